#pragma once  // internal

#include "segre/data/dataset.h"
#include "segre/read/column_looks.h"
#include "segre/read/table_rows.h"

namespace segre {

/// read_csv_table for any rows. `name` has the options; the style is that of the advice in messages.
Dataset read_table(const SourceName& name, TableRows& rows, OptionStyle style);

/// read_csv_table_for for any rows.
Dataset read_table_for(const SourceName& name, TableRows& rows, const Space& space, const std::string& what,
                       int64_t most, Unknowns unknowns);

}  // namespace segre
