#pragma once  // internal

#include <filesystem>
#include <optional>
#include <string>

/// Names of files and folders in a run directory, see RunDirectory. No other code spells them out.
namespace segre::run_files {

inline constexpr const char* kConfig = "config.toml";
inline constexpr const char* kInfo = "run.json";
inline constexpr const char* kMetrics = "metrics.jsonl";
inline constexpr const char* kLock = ".lock";
inline constexpr const char* kSamples = "samples";
inline constexpr const char* kTensorBoard = "tensorboard";
inline constexpr const char* kCheckpoints = "checkpoints";
inline constexpr const char* kBest = "best.json";             ///< in kCheckpoints
inline constexpr const char* kDescription = "model.json";     ///< in a checkpoint
inline constexpr const char* kTensors = "model.safetensors";  ///< in a checkpoint

/// "step-0000000001200": the checkpoint and the picture of a step. Names sort by step.
std::string step_name(int64_t step);

/// Whether a name is the step_name() of some step.
bool is_step_name(const std::string& name);

/// The step in a checkpoint directory's name; nothing if it is not one.
std::optional<int64_t> step_in_name(const std::filesystem::path& checkpoint);

}  // namespace segre::run_files
