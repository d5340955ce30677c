#pragma once  // internal

#include "segre/data/dataset.h"
#include "segre/read/column_looks.h"
#include "segre/read/table_rows.h"

namespace segre {

/// read_csv_table for any rows. `name` has the options; the style is that of the advice in messages.
Dataset read_table(const SourceName& name, TableRows& rows, OptionStyle style);

}  // namespace segre
