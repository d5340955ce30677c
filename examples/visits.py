#!/usr/bin/env python3
"""Writes a made-up table of visits to a clinic, as messy as real ones, to try out `segre train --data csv:FILE`.

  examples/visits.py FILE [--count 1000] [--seed 1] [--odd]

Besides labels it has identifiers, dates, numbers, a constant column, missing values under several names, quoted values
with commas and quotes inside, and towns that are not ASCII. The columns depend on each other: the complaint on
the age, the medicine and the ward on the complaint, the doctor on the ward, the insurer on the town. With --odd three
rows have labels that never occur together; their lines are printed.
"""

import argparse
import csv
import datetime
import random

COMPLAINTS = {  # complaint: (ages, ward, medicines)
    "earache": ((1, 14), "children", ["amoxicillin", "drops"]),
    "measles, or a rash like it": ((1, 12), "children", ["paracetamol", "none"]),
    "broken arm": ((4, 70), "surgery", ["ibuprofen", "morphine"]),
    'back pain ("lumbago")': ((25, 80), "surgery", ["ibuprofen", "none"]),
    "cough": ((1, 90), "general", ["paracetamol", "none", "amoxicillin"]),
    "chest pain": ((45, 92), "heart", ["aspirin", "beta blocker"]),
    "high blood pressure": ((40, 92), "heart", ["beta blocker", "diuretic"]),
}
DOCTORS = {"children": ["Łukasz", "Zoë"], "surgery": ["Ågren", "Núñez"], "general": ["Zoë", "Núñez", "Müller"],
           "heart": ["Müller", "Ågren"]}
TOWNS = {"Zürich": "Helvetia", "Genève": "Assura", "Lugano": "Helvetia", "Łódź": "abroad", "Besançon": "abroad"}
MISSING = ["", "NA", "?"]
ODD = [  # a complaint and what never occurs with it
    ("earache", {"medicine": "beta blocker"}),
    ("chest pain", {"ward": "children"}),
    ("cough", {"town": "Łódź", "insurer": "Assura"}),
]


def visit(number, chance, complaint=None):
    complaint = complaint or chance.choices(list(COMPLAINTS), [3, 2, 3, 4, 6, 4, 5])[0]
    (youngest, oldest), ward, medicines = COMPLAINTS[complaint]
    age = chance.randint(youngest, oldest)
    town = chance.choices(list(TOWNS), [8, 4, 3, 1, 2])[0]
    adult = 1 - 0.95 ** max(0, age - 2)
    row = {
        "visit": f"V-{number:05d}",
        "date": (datetime.date(2025, 1, 1) + datetime.timedelta(days=chance.randint(0, 364))).isoformat(),
        "clinic": "Seefeld",
        "town": town,
        "insurer": TOWNS[town] if chance.random() < 0.9 else "Helvetia" if town != "Łódź" else "abroad",
        "age": str(age),
        "weight, kg": f"{4 + 66 * adult * chance.uniform(0.8, 1.3):.1f}",
        "smoker": "no" if age < 16 else chance.choices(["yes", "no", "formerly"], [3, 5, 2])[0],
        "complaint": complaint,
        "ward": ward,
        "medicine": chance.choice(medicines),
        "doctor": chance.choice(DOCTORS[ward]),
    }
    for column in ("age", "weight, kg", "smoker", "insurer"):
        if chance.random() < 0.04:
            row[column] = chance.choice(MISSING)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--odd", action="store_true")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    rows = [visit(number, chance) for number in range(1, arguments.count + 1)]
    for number, (complaint, change) in enumerate(ODD if arguments.odd else []):
        place = (2 * number + 1) * len(rows) // (2 * len(ODD))
        rows[place] = {**visit(place + 1, chance, complaint), **change}
        print(f"{arguments.file}:{place + 2}: {complaint}, {', '.join(change.values())}")
    with open(arguments.file, "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
