"""The package segre in ten lines, as in the README, on the tables that examples/visits.py makes:

  examples/visits.py visits.csv
  examples/visits.py new.csv --count 300 --seed 2 --odd
  .venv/bin/python examples/ten_lines.py
"""

import pandas as pd
import segre

df, new = (pd.read_csv(file, na_values="?") for file in ("visits.csv", "new.csv"))
model = segre.fit(df, max_time="30s")
print(model.sample(1000))  # new rows, in the columns and types of df
print(model.log_prob(new).mean())  # nats, a lower bound; .std_error has the error of each row's estimate
print(model.complete(new, draws=5))  # the gaps filled in, five times
odd = model.outliers(new)  # high is odd; .details has the reasons
print(new.assign(score=odd, pair=odd.details["pair"]).nlargest(3, "score")[["score", "pair"]])
model.save("clinic")  # the files of the command line
print(segre.load("clinic").sample(3, given={"complaint": "cough", "smoker": "yes"}))
print(segre.load("models/mnist").sample(64).shape)  # images: (64, 32, 32)
table = {"rain": [0, 0, 1, 1], "wet": [0, 1, 0, 1], "p": [0.6, 0.1, 0.05, 0.25]}
print(segre.Oracle(table).conditional({"wet": 1}).marginals()["rain"])  # exact: 0.286, 0.714
