#!/usr/bin/env python3
"""Writes a made-up register of people with a health insurance: a table whose columns have from 2 to 30 labels.

    bench/mixed_table.py OUT.csv [--rows 20000] [--seed 1] [--missing 0.1]

OUT may end in .csv.gz. The 24 columns depend on each other as in real tables:
  strongly   clinic and cost on diagnosis, occupation on age, language on region, children on household
  weakly     insurer on region, month on diagnosis, sport on income
  jointly    occupation, diagnosis and health on several columns each
  never      a child with an income, a man who is pregnant, nights in hospital at a low cost
  hidden     a profile of each person, which is not written, affects language, age, education, health and others
The rarest label has about one row in a thousand. In the columns of GAPS each cell is empty with probability --missing,
whatever it contains. The same --seed with --missing 0 gives the same rows without gaps; another seed gives other rows
of the same distribution.
"""

import argparse
import csv
import gzip
import math
import random
import sys

REGIONS = ["Auental", "Birkfeld", "Chaumont", "Dornach", "Eschbach", "Fontaine", "Grünau", "Hochwald", "Isola",
           "Jurapass", "Kaltbrunn", "Lindau", "Montreval", "Neudorf", "Oberried", "Pratoverde", "Quellen", "Rivage",
           "Steinach", "Talheim", "Ulmen", "Valbella", "Weiler", "Yverne", "Zell", "Bellavista", "Corgemont", "Seewis",
           "Trois Sapins", "Vals"]
AGES = ["0-9", "10-17", "18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75-84", "85+"]
ADULT, RETIRED = 2, 7  # numbers of the first such bands
EDUCATION = ["none", "school", "apprenticeship", "college", "university"]
INCOMES = ["none", "below 1k", "1k-3k", "3k-5k", "5k-8k", "8k-12k", "above 12k"]
PLANS = {"standard": 5, "family doctor": 4, "phone first": 3, "network": 2, "online": 1}
DEDUCTIBLES = ["0", "300", "500", "1000", "1500", "2500"]
INSURERS = ["Alba", "Borealis", "Concorde", "Delta", "Edelweiss", "Felix", "Gemina", "Horizont", "Iris", "Juno",
            "Kolibri", "Libra"]
SPORT = ["never", "rarely", "monthly", "weekly", "daily"]
WEIGHTS = ["under", "normal", "over", "obese", "very obese"]
HEALTH = ["very bad", "bad", "fair", "good", "very good"]
COSTS = ["0", "below 100", "100-500", "500-2k", "2k-10k", "10k-50k", "above 50k"]
NIGHTS = ["0", "1-2", "3-7", "8+"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# Diagnosis: how common, the band of its typical age and their spread (in bands), clinic, cost, month of its peak.
DIAGNOSES = {
    "none": (30, 3, 4, "none", 0, None),
    "check-up": (14, 5, 5, "practice", 1, None),
    "cold": (14, 2, 5, "practice", 1, 0),
    "influenza": (5, 5, 5, "practice", 2, 1),
    "ear infection": (5, 0, 1, "practice", 1, 11),
    "hay fever": (5, 3, 3, "practice", 1, 4),
    "back pain": (9, 5, 2, "practice", 2, None),
    "sprain": (5, 2, 2, "emergency", 2, 6),
    "fracture": (3, 6, 5, "surgery", 4, 0),
    "tick bite": (1, 3, 4, "practice", 1, 6),
    "migraine": (3, 4, 2, "neurology", 2, None),
    "depression": (5, 4, 2, "psychiatry", 3, 10),
    "pregnancy": (9, 3.3, 0.7, "maternity", 4, None),
    "diabetes care": (40, 7, 3, "internal", 3, None),
    "hypertension care": (14, 7, 3, "internal", 2, None),
    "heart attack": (1.5, 7.5, 1.5, "cardiology", 5, 0),
    "stroke": (1, 8, 1.2, "neurology", 5, None),
    "hip replacement": (1.2, 8, 1, "surgery", 5, None),
    "cancer": (2, 7, 2, "oncology", 6, None),
    "dementia": (2, 9, 0.8, "geriatrics", 4, None),
    "rare disease": (0.1, 3, 5, "university hospital", 6, None),
}
# Profile: how common, typical age band and spread, education, health, city, thrift; the last four in -1 to 1.
PROFILES = {
    "student": (10, 2.2, 0.5, 0.6, 0.6, 0.9, 1.0),
    "worker": (25, 4.2, 1.4, -0.5, 0.0, -0.1, 0.3),
    "academic": (15, 4.0, 1.2, 1.0, 0.5, 0.8, 0.4),
    "family": (25, 2.5, 2.3, 0.1, 0.4, -0.5, 0.0),
    "chronically ill": (8, 5.8, 1.7, -0.3, -1.0, 0.0, -1.0),
    "pensioner": (17, 7.8, 0.8, -0.3, -0.3, -0.3, -0.6),
}
GAPS = ["education", "occupation", "income", "smoker", "sport", "weight", "health"]


def bell(x, centre, spread):
    return math.exp(-0.5 * ((x - centre) / spread) ** 2)


class Person:
    """Draws the columns of a row one after another, each given those before."""

    def __init__(self, chance):
        self.chance = chance
        profiles = list(PROFILES.values())
        _, self.age_centre, self.age_spread, self.learning, self.fitness, self.city, self.thrift = chance.choices(
            profiles, [profile[0] for profile in profiles])[0]

    def pick(self, weights):
        """A label of {label: weight}."""
        return self.chance.choices(list(weights), list(weights.values()))[0]

    def scale(self, labels, centre, spread, first=0, last=None):
        """A label of an ordered scale, near the number `centre`, between two numbers."""
        last = len(labels) - 1 if last is None else last
        centre = min(max(centre, first), last)
        return self.pick({k: bell(k, centre, spread) for k in range(first, last + 1)})

    def yes(self, log_odds):
        return self.chance.random() < 1 / (1 + math.exp(-log_odds))

    def place(self):
        region = self.pick({k: 1 / (1 + k) ** 0.9 for k in range(len(REGIONS))})
        east, south = region % 2, region % 5 == 3
        language = self.pick({"German": 1 if south or east else 40, "French": 25 if east and not south else 1,
                              "Italian": 30 if south else 0.7, "Romansh": 1.5 if region > 20 else 0.05,
                              "English": 1 + self.city, "other": 2.0})
        settlement = self.pick({"city": math.exp(self.city + (1.2 if region < 6 else -0.8)), "suburb": 1,
                                "village": math.exp(-self.city + (-0.7 if region < 6 else 0.5)), "remote": 0.08})
        return region, language, settlement

    def household(self, age):
        if age < ADULT:
            return self.pick({"family": 9, "single parent": 2, "institution": 0.1})
        return self.pick({"alone": 3 + max(0, age - 6), "couple": 1 + age, "family": 9 * bell(age, 4, 1.2),
                          "single parent": 1.5 * bell(age, 4, 1), "shared": 4 * bell(age, 2, 0.8),
                          "institution": 0.03 + (2 if age == 9 else 0.3 if age == 8 else 0)})

    def children(self, household):
        if household in ("alone", "shared", "institution"):
            return self.pick({"0": 98, "1": 1, "2": 1})
        if household == "couple":
            return self.pick({"0": 95, "1": 3, "2": 2})
        return self.pick({"1": 4, "2": 5, "3": 2, "4+": 0.6})

    def occupation(self, age, education):
        if age < ADULT:
            return "pupil" if age == 1 or self.yes(0.5) else "small child"
        if age >= RETIRED:
            return self.pick({"retired": 95, "self-employed": 3, "farmer": 2})
        taught = education - 2
        return self.pick({"student": (8 if age == 2 else 0.3) * math.exp(0.5 * taught), "care": 3, "at home": 1.5,
                          "office": 6 * math.exp(0.2 * taught), "trade": 5 * math.exp(-0.6 * abs(taught)),
                          "factory": 3 * math.exp(-0.8 * taught), "teacher": math.exp(1.0 * taught - 1),
                          "engineer": math.exp(1.1 * taught - 0.8), "unemployed": math.exp(-0.4 * taught),
                          "self-employed": 1.2, "farmer": 0.6 * math.exp(-self.city),
                          "retired": 2 if age == 6 else 0.02})

    def income(self, age, education, occupation):
        if age < ADULT:
            return 0
        base = {"student": 1.2, "at home": 0.6, "unemployed": 1.3, "retired": 2.5, "engineer": 4.8, "teacher": 4.2,
                "factory": 2.6}.get(occupation, 3.3)
        return self.scale(INCOMES, base + 0.35 * (education - 2) + 0.15 * min(age - 3, 3), 0.8)

    def diagnosis(self, age, sex, ill):
        weights = {}
        for name, (common, centre, spread, _, cost, _) in DIAGNOSES.items():
            weights[name] = common * bell(age, centre, spread) * (math.exp(-0.7 * self.fitness) if cost > 2 else 1)
            if name == "pregnancy" and (sex == "m" or not ADULT <= age <= 5):
                weights[name] = 0
            if name.endswith(" care") and name.split()[0] not in ill:
                weights[name] = 0
        return self.pick(weights)

    def body(self, age, education, income):
        """Smoker, sport, weight, and the set of chronic diseases."""
        smoking = 0.2 if age == 1 else math.exp(1.0 - 0.4 * (education - 2) - 0.12 * age)
        smoker = "never" if age == 0 else self.pick({"never": 6, "formerly": 0.5 * age, "yes": smoking})
        sport = self.scale(SPORT, 2 + self.fitness + 0.1 * income - 0.15 * max(0, age - 5), 1.0)
        weight = self.scale(WEIGHTS, 1.3 + 0.12 * age - 0.3 * (sport - 2), 0.7)
        odds = {"hypertension": -4.6 + 0.5 * age + 0.5 * (weight - 1),
                "diabetes": -5.4 + 0.35 * age + 0.9 * (weight - 1) - 0.7 * self.fitness}
        return smoker, sport, weight, {name for name in odds if self.yes(odds[name])}

    def treatment(self, diagnosis, ill):
        """Clinic, month, cost and nights."""
        _, _, _, clinic, usual, peak = DIAGNOSES[diagnosis]
        if clinic == "practice" and self.yes(-3.0):
            clinic = "emergency"
        month = self.pick({name: 1 if peak is None else 1 + 3 * math.cos((k - peak) * math.pi / 12) ** 4
                           for k, name in enumerate(MONTHS)})
        cost = 0 if diagnosis == "none" else self.scale(COSTS, usual + 0.3 * len(ill), 0.6, 1)
        nights = 0 if cost < 4 else self.scale(NIGHTS, cost - 3.5, 0.6)
        return clinic, month, cost, nights

    def contract(self, region, age, ill):
        """Insurer, plan and deductible."""
        insurer = self.pick({name: (1 + 2 * ((region + k) % 6 == 0)) / (1 + k) ** 1.2
                             for k, name in enumerate(INSURERS)})
        cheap = ("phone first", "online")
        plan = self.pick({name: share * (math.exp(self.thrift + 0.5 - 0.1 * age) if name in cheap else 1)
                          for name, share in PLANS.items()})
        saved = 2.2 + 1.6 * self.thrift + 0.7 * (plan in cheap) - 0.8 * len(ill)
        return insurer, plan, 0 if age < ADULT else self.scale(DEDUCTIBLES, saved, 0.7, 1)

    def row(self):
        region, language, settlement = self.place()
        age = self.scale(AGES, self.age_centre, self.age_spread)
        sex = "f" if self.yes(0.02 + 0.12 * max(0, age - 6)) else "m"
        household = self.household(age)
        levels = [(0, 0), (0, 1)][age] if age < ADULT else (1, 4)
        education = self.scale(EDUCATION, 2 + 1.3 * self.learning, 0.7, *levels)
        occupation = self.occupation(age, education)
        income = self.income(age, education, occupation)
        smoker, sport, weight, ill = self.body(age, education, income)
        diagnosis = self.diagnosis(age, sex, ill)
        clinic, month, cost, nights = self.treatment(diagnosis, ill)
        burden = 0.9 * len(ill) + 0.35 * max(0, DIAGNOSES[diagnosis][4] - 2)
        health = self.scale(HEALTH, 3 + 0.7 * self.fitness + 0.3 * (sport - 2) - burden, 0.6)
        insurer, plan, deductible = self.contract(region, age, ill)
        return {
            "region": REGIONS[region], "language": language, "settlement": settlement, "age": AGES[age], "sex": sex,
            "household": household, "children": self.children(household), "education": EDUCATION[education],
            "occupation": occupation, "income": INCOMES[income], "insurer": insurer, "plan": plan,
            "deductible": DEDUCTIBLES[deductible], "smoker": smoker, "sport": SPORT[sport], "weight": WEIGHTS[weight],
            "hypertension": "yes" if "hypertension" in ill else "no", "diabetes": "yes" if "diabetes" in ill else "no",
            "health": HEALTH[health], "diagnosis": diagnosis, "clinic": clinic, "month": month, "cost": COSTS[cost],
            "nights": NIGHTS[nights],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--missing", type=float, default=0.1, help="share of the cells, in some of the columns")
    args = parser.parse_args()
    if args.rows < 1 or not 0 <= args.missing < 1:
        parser.error("--rows must be at least 1, --missing at least 0 and below 1")
    chance, gaps = random.Random(args.seed), random.Random(f"gaps {args.seed}")
    try:
        with (gzip.open if args.out.endswith(".gz") else open)(args.out, "wt", newline="", encoding="utf-8") as file:
            writer = None
            for _ in range(args.rows):
                row = Person(chance).row()
                for column in GAPS:
                    if gaps.random() < args.missing:
                        row[column] = ""
                if writer is None:
                    writer = csv.DictWriter(file, row, lineterminator="\n")
                    writer.writeheader()
                writer.writerow(row)
    except OSError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
