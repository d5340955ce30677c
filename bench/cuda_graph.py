"""The CUDA graph of a training step, for the PyTorch peers."""


def capture(step):
    """`step` as one CUDA graph; calling it replays the graph and returns what the step returned. Compilation and tuning,
    if any, must be done before."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = step()

    def replay():
        graph.replay()
        return value

    return replay
