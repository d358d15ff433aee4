"""Every sentence of a report that has numbers or names in it, with an example."""

from __future__ import annotations

from typing import Any

#: Sentences and an example of each, by name. Labels of the data are in quotation marks.
SENTENCES: dict[str, tuple[str, str]] = {
    # The questions that a page answers.
    "asks decisions": (
        "Who gets the decision {label}?",
        "Who gets the decision “hired”?",
    ),
    "asks predictions": ("Who is predicted {label}?", "Who is predicted “1”?"),
    "asks scores": (
        "How do scores differ, whatever the threshold?",
        "How do scores differ, whatever the threshold?",
    ),
    "asks errors": (
        "Are people with the same true label treated alike?",
        "Are people with the same true label treated alike?",
    ),
    "asks calibration": (
        "Does a score mean the same in every group?",
        "Does a score mean the same in every group?",
    ),
    "asks numbers": (
        "How do predicted numbers differ?",
        "How do predicted numbers differ?",
    ),
    "asks mean errors": (
        "Is one group overestimated beside another?",
        "Is one group overestimated beside another?",
    ),
    "asks absolute errors": (
        "Are predictions of one group less exact?",
        "Are predictions of one group less exact?",
    ),
    # The answer to a question, by what the tests say of each attribute.
    "significant": (
        "{what} differ by {names}; chance alone does not explain it.",
        "Predictions differ by sex and race; chance alone does not explain it.",
    ),
    "significant of missing": (
        "{what} of people whose {missing} is missing differ from those of others; "
        "chance alone does not explain it. By {name}, no difference of known groups is "
        "significant.",
        "Errors of people whose race is missing differ from those of others; chance "
        "alone does not explain it. By race, no difference of known groups is "
        "significant.",
    ),
    "weak evidence": (
        "There are signs that {what} differ by {names}, but the evidence is weak.",
        "There are signs that errors differ by race, but the evidence is weak.",
    ),
    "no evidence": (
        "There is no evidence that {what} differ by {names}, which does not show that "
        "they are equal.",
        "There is no evidence that scores differ by age, which does not show that they "
        "are equal.",
    ),
    "not tested": (
        "Differences of {what} by {names} are measured, and not tested.",
        "Differences of decisions by sex are measured, and not tested.",
    ),
    "not computable": (
        "Nothing can be said about {what} by {names}.",
        "Nothing can be said about errors by race.",
    ),
    "all alike": (
        "There is nothing to compare: all {rows} have the same {what}.",
        "There is nothing to compare: all 600 rows have the same score.",
    ),
    "labels alike": (
        "There is nothing to compare predictions with: all {rows} have the same "
        "{what}.",
        "There is nothing to compare predictions with: all 600 rows have the same true "
        "label.",
    ),
    "miscalibrated": (
        "People with the same score do not have the same outcomes in all groups by "
        "{names} (calibration gap, tested beside the questions).",
        "People with the same score do not have the same outcomes in all groups by "
        "race (calibration gap, tested beside the questions).",
    ),
    # What was found, by metric, without full stop.
    "demographic_parity_difference decided": (
        "{ours} of {first} and {theirs} of {second} get the decision {label}: {value} "
        "percentage points apart",
        "47.6% of “White” and 31.0% of “Black” get the decision “approved”: 16.6 "
        "percentage points apart",
    ),
    "demographic_parity_difference": (
        "{ours} of {first} and {theirs} of {second} are predicted {label}: {value} "
        "percentage points apart",
        "26.2% of “Male” and 7.8% of “Female” are predicted “1”: 18.4 percentage "
        "points apart",
    ),
    "max_gap": (
        "{first} is furthest from the average group: {ours} are {value} points {side} "
        "its {theirs}",
        "“Male” is furthest from the average group: 26.2% are 9.2 points above its "
        "17.0%",
    ),
    "max_gap of none": (
        "All groups have the rate of the average group, {theirs}",
        "All groups have the rate of the average group, 50.0%",
    ),
    "cvar_fairness": (
        "The {share} of groups furthest from the average ({n_tail} of {n_groups}) are "
        "{value} points from it on average",
        "The 10.0% of groups furthest from the average (2 of 12) are 8.1 points from "
        "it on average",
    ),
    "cvar_fairness of one": (
        "The {share} of groups furthest from the average are one group here, so this "
        "is the largest gap",
        "The 10.0% of groups furthest from the average are one group here, so this is "
        "the largest gap",
    ),
    "mcdp": (
        "{more} of {high} and {less} of {low} have a score above {score}: {value} "
        "percentage points apart, the most at any threshold",
        "59.6% of “Male” and 23.8% of “Female” have a score above 0.086: 35.9 "
        "percentage points apart, the most at any threshold",
    ),
    "mcdp of ranks": (
        "{more} of {high} and {less} of {low} have a rank above {score}{of_score}: "
        "{value} percentage points apart, the most at any threshold",
        "59.6% of “Male” and 23.8% of “Female” have a rank above 0.500 (a score above "
        "612): 35.9 percentage points apart, the most at any threshold",
    ),
    "mcdp of numbers": (
        "{more} of {high} and {less} of {low} have a prediction above {score}: {value} "
        "percentage points apart, the most above any number",
        "59.6% of “M” and 23.8% of “F” have a prediction above 28,800: 35.9 percentage "
        "points apart, the most above any number",
    ),
    "mcdp_epsilon": (
        "At every threshold of a range {length:g} long, {first} and {second} are at "
        "least {value} points apart",
        "At every threshold of a range 0.1 long, “Female” and “Male” are at least 34.6 "
        "points apart",
    ),
    "mcdp_epsilon of ranks": (
        "At every threshold of a range that holds {share_of_all} of everyone, {first} "
        "and {second} are at least {value} points apart",
        "At every threshold of a range that holds 10.0% of everyone, “Female” and "
        "“Male” are at least 34.6 points apart",
    ),
    "abcc": (
        "Averaged over all thresholds, the shares of {first} and {second} above the "
        "threshold differ by {value} points",
        "Averaged over all thresholds, the shares of “Female” and “Male” above the "
        "threshold differ by 19.4 points",
    ),
    "abcc of ranks": (
        "Averaged over the scores of everyone as thresholds, the shares of {first} and "
        "{second} above the threshold differ by {value} points",
        "Averaged over the scores of everyone as thresholds, the shares of “Female” "
        "and “Male” above the threshold differ by 19.4 points",
    ),
    "mean_score_difference": (
        "The mean score is {ours} for {first} and {theirs} for {second}",
        "The mean score is 0.105 for “Female” and 0.299 for “Male”",
    ),
    "madd": (
        "The score histograms of {first} and {second} overlap by {overlap}",
        "The score histograms of “Female” and “Male” overlap by 64.3%",
    ),
    "madd of ranks": (
        "The histograms of the ranks of {first} and {second} overlap by {overlap}",
        "The histograms of the ranks of “Female” and “Male” overlap by 64.3%",
    ),
    "wasserstein_distance": (
        "Predictions of {first} would have to change by {value} on average to be "
        "distributed as those of {second}",
        "Predictions of “F” would have to change by 3,012 on average to be distributed "
        "as those of “M”",
    ),
    "mean_prediction_difference": (
        "The mean prediction is {ours} for {first} and {theirs} for {second}",
        "The mean prediction is 29,410 for “F” and 32,420 for “M”",
    ),
    "mean_error_difference": (
        "Predictions minus true values are {ours} on average for {first} and {theirs} "
        "for {second}",
        "Predictions minus true values are 12.50 on average for “F” and -1,980 for “M”",
    ),
    "mean_absolute_error_difference": (
        "Predictions are off by {ours} on average for {first} and by {theirs} for "
        "{second}",
        "Predictions are off by 2,410 on average for “F” and by 2,988 for “M”",
    ),
    "equalized_odds_difference": (
        "Of {people} with the true label {true}, {ours} are predicted {label}; of "
        "{others}, {theirs}: {value} percentage points apart",
        "Of 6,994 in “Male” with the true label “0”, 8.1% are predicted “1”; of 4,417 "
        "in “Female”, 1.9%: 6.2 percentage points apart",
    ),
    "equalized_odds_difference decided": (
        "Of {people} with the true label {true}, {ours} get the decision {label}; of "
        "{others}, {theirs}: {value} percentage points apart",
        "Of 120 in “M” with the true label “late”, 95.0% get the decision “approved”; "
        "of 90 in “F”, 80.0%: 15.0 percentage points apart",
    ),
    "dcp": (
        "Predictions of {value} of people would have to be set aside for the error "
        "rates of all groups to agree",
        "Predictions of 3.5% of people would have to be set aside for the error rates "
        "of all groups to agree",
    ),
    "calibration_gap": (
        "Of 100 people of {first}, those with scores up to {score} have {ours} "
        "positive outcomes than their scores predict, of 100 of {second}, {theirs}: "
        "{value} percentage points apart, the most up to any score",
        "Of 100 people of “Black”, those with scores up to 0.412 have 1.2 fewer "
        "positive outcomes than their scores predict, of 100 of “Other”, 3.6 more: 4.8 "
        "percentage points apart, the most up to any score",
    ),
    "other": (
        "{title} of {first} and {second} is {value}",
        "Energy distance of “F” and “M” is 0.214",
    ),
    "undefined few labels": (
        "Cannot be computed: no two groups have {rows} or more of one true label",
        "Cannot be computed: no two groups have 10 rows or more of one true label",
    ),
    "undefined no group": (
        "Cannot be computed: there must be at least two groups, and no group has "
        "{rows} or more",
        "Cannot be computed: there must be at least two groups, and no group has 10 "
        "rows or more",
    ),
    "undefined one group": (
        "Cannot be computed: there must be at least two groups, and only {group} has "
        "{rows} or more",
        "Cannot be computed: there must be at least two groups, and only “a” has 10 "
        "rows or more",
    ),
    # How sure it is.
    "interval": (
        "{finding} ({level:g}% interval {low} to {high}).",
        "The mean score is 0.105 for “F” and 0.299 for “M” (95% interval 0.185 to "
        "0.203).",
    ),
    "interval without 0": (
        "{finding} ({level:g}% interval {low} to {high}; the test excludes 0).",
        "The mean score is 0.105 for “F” and 0.109 for “M” (95% interval 0.000 to "
        "0.009; the test excludes 0).",
    ),
    "pair differs": (
        "The difference between {pair} is statistically significant.",
        "The difference between “Black” and “White” is statistically significant.",
    ),
    "pairs differ": (
        "The differences between {pairs} are statistically significant.",
        "The differences between “Black” and “White”; “Other” and “White” are "
        "statistically significant.",
    ),
    "pair small": (
        "For this question alone, the difference between {pair} has a small p-value.",
        "For this question alone, the difference between “Black” and “White” has a "
        "small p-value.",
    ),
    "pairs small": (
        "For this question alone, the differences between {pairs} have small p-values.",
        "For this question alone, the differences between “Black” and “White”; “Other” "
        "and “White” have small p-values.",
    ),
    "groups small": (
        "With small p-values for this question alone, each beside everyone: {groups}.",
        "With small p-values for this question alone, each beside everyone: “7” and "
        "“11”.",
    ),
    "pairs counted": (
        "Of {of} pairs of groups, {n} differ significantly: {pairs}.",
        "Of 10 pairs of groups, 2 differ significantly: “Black” and “White”; “Other” "
        "and “White”.",
    ),
    "groups counted": (
        "Of {of} groups, {n} {verb} significantly from everyone: {groups}.",
        "Of 12 groups, 2 differ significantly from everyone: “7” (40) and “11” (13).",
    ),
    "groups by another test": (
        "By another test, that of each group in the table of groups, {n} {verb} from "
        "the rest; it is less strict.",
        "By another test, that of each group in the table of groups, 15 differ from "
        "the rest; it is less strict.",
    ),
    "groups differ": (
        "Statistically significant, each beside everyone: {groups}.",
        "Statistically significant, each beside everyone: “7” and “11”.",
    ),
    "error rates differ": (
        "Over all true labels together, {n} of {of} groups {verb} in error rate from "
        "all other rows: {groups}.",
        "Over all true labels together, 1 of 150 groups differs in error rate from all "
        "other rows: “s007” (48.3%, others 21.1%).",
    ),
    "no error rate differs": (
        "Over all true labels together, none of {of} groups is found to differ in "
        "error rate from all other rows.",
        "Over all true labels together, none of 150 groups is found to differ in error "
        "rate from all other rows.",
    ),
    "further apart, too": (
        "{pair} are further apart{cell}, by {gap}, which is significant, too, but "
        "stands out less beside what chance gives them{by_chance}.",
        "“Asian” and “Black” are further apart, by 16.0 points, which is significant, "
        "too, but stands out less beside what chance gives them (3.6 points on "
        "average).",
    ),
    "further apart, less clear": (
        "{pair} are further apart{cell}, by {gap}, but stand out less beside what "
        "chance gives them{by_chance}.",
        "“Asian” and “Black” are further apart, by 16.0 points, but stand out less "
        "beside what chance gives them (3.6 points on average).",
    ),
    "further apart by chance": (
        "{pair} are further apart{cell}, by {gap}, but this may be chance{by_chance}.",
        "“Asian” and “Black” are further apart, by 16.0 points, but this may be chance "
        "(9.6 points on average).",
    ),
    "signs": (
        "Signs of a difference: {signs}.",
        "Signs of a difference: the interval is above 0.",
    ),
    "sign of the p-value": (
        "the p-value, {pvalue}, is small for this question alone",
        "the p-value, 0.03, is small for this question alone",
    ),
    "sign of the interval": ("the interval is above 0", "the interval is above 0"),
    "sign of the groups": (
        "the share of {groups} differs from that of the rest",
        "the share of “a” and “c” differs from that of the rest",
    ),
    "sign of two groups": (
        "an exact test of the two shares finds a difference",
        "an exact test of the two shares finds a difference",
    ),
    "largest beside chance": (
        "Measured by what chance gives each pair of groups, {pair} differ most{cell}: "
        "by {gap}.",
        "Measured by what chance gives each pair of groups, “Black” and “White” differ "
        "most: by 12.1 points.",
    ),
    "may be noise": (
        "This may be noise: {share} of random groupings {as_much}.",
        "This may be noise: 22.5% of random groupings differ as much.",
    ),
    "less clear": (
        "By this number alone it is less clear: {share} of random groupings {as_much}.",
        "By this number alone it is less clear: 7.0% of random groupings differ as "
        "much.",
    ),
    "interval above, test not": (
        "The evidence is weak: the interval is above 0, but {share} of random "
        "groupings {as_much}.",
        "The evidence is weak: the interval is above 0, but 7.0% of random groupings "
        "have a difference that stands out as much.",
    ),
    "as much": ("differ as much", "differ as much"),
    "as much of several": (
        "have a difference that stands out as much",
        "have a difference that stands out as much",
    ),
    "sign of the error rates": (
        "groups differ in error rate over all true labels",
        "groups differ in error rate over all true labels",
    ),
    "no known group differs": (
        "No difference of known groups is significant.",
        "No difference of known groups is significant.",
    ),
    "missing differs most": (
        "People whose {name} is missing {verb} most.",
        "People whose race is missing stand out most.",
    ),
    "all tests": (
        "All {n} tests have p at most {level}; by chance alone about {by_chance} "
        "would.",
        "All 24 tests have p at most 0.05; by chance alone about 1.2 would.",
    ),
    "some tests": (
        "{small} of {n} tests have p at most {level}; by chance alone about "
        "{by_chance} would.",
        "9 of 12 tests have p at most 0.05; by chance alone about 0.6 would.",
    ),
    # What changed between two models of the same rows.
    "change fell": (
        "{what} by {name} fell from {before} to {after}, by {change} ({level:g}% "
        "interval {low} to {high}).",
        "The largest difference of scores by sex fell from 35.9 to 3.1 points, "
        "by 32.8 points (95% interval 30.1 to 34.9).",
    ),
    "change rose": (
        "{what} by {name} rose from {before} to {after}, by {change} ({level:g}% "
        "interval {low} to {high}).",
        "The largest difference of errors by sex rose from 10.1 to 30.2 points, "
        "by 20.1 points (95% interval 14.0 to 25.1).",
    ),
    "change open": (
        "{what} by {name} was {before} and is {after}; the change may be chance "
        "({level:g}% interval {low} to {high}).",
        "The difference of decisions by race was 3.1 and is 2.9 points; the change may "
        "be chance (95% interval -1.4 to 1.0).",
    ),
    "change unpaired": (
        "{what} by {name} was {before} and is {after}.",
        "The difference of decisions by race was 3.1 and is 2.9 points.",
    ),
    "performance unpaired": (
        "{what} was {before} and is {after}.",
        "Accuracy was 0.875 and is 0.850.",
    ),
    "changes of people": (
        "Changes have no intervals here: these are not computed where people have "
        "several rows.",
        "Changes have no intervals here: these are not computed where people have "
        "several rows.",
    ),
    "changes of counts": (
        "Changes have no intervals here: these compare models row by row, and rows "
        "were counted for each model alone.",
        "Changes have no intervals here: these compare models row by row, and rows "
        "were counted for each model alone.",
    ),
    "changes without": (
        "Changes of {names} have no intervals.",
        "Changes of “DCP” have no intervals.",
    ),
    "performance fell": (
        "{what} fell from {before} to {after}, by {change} ({level:g}% interval {low} "
        "to {high}).",
        "Accuracy fell from 0.875 to 0.850, by 0.025 (95% interval 0.021 to 0.028).",
    ),
    "performance rose": (
        "{what} rose from {before} to {after}, by {change} ({level:g}% interval {low} "
        "to {high}).",
        "Accuracy rose from 0.850 to 0.875, by 0.025 (95% interval 0.021 to 0.028).",
    ),
    "performance open": (
        "{what} was {before} and is {after}; the change may be chance ({level:g}% "
        "interval {low} to {high}).",
        "Accuracy was 0.850 and is 0.851; the change may be chance (95% interval "
        "-0.002 to 0.004).",
    ),
    "changes are bounded": (
        "Intervals of changes of disparities are conservative: they hold whichever "
        "groups differ most, and a change may be real where they contain 0.",
        "Intervals of changes of disparities are conservative: they hold whichever "
        "groups differ most, and a change may be real where they contain 0.",
    ),
    "changed": (
        "What changed from {first} to {model}",
        "What changed from “plain” to “repaired”",
    ),
    # Limits of the reader.
    "within a limit": (
        "The difference is at most {limit:g} ({level:g}% confidence): {names}.",
        "The difference is at most 0.1 (95% confidence): decisions by sex.",
    ),
    "above a limit": (
        "The difference is above {limit:g} ({level:g}% confidence): {names}.",
        "The difference is above 0.1 (95% confidence): scores by sex and race.",
    ),
    "limit open": (
        "There is too little data to say whether the difference is at most {limit:g}: "
        "{names}.",
        "There is too little data to say whether the difference is at most 0.1: errors "
        "by sex.",
    ),
    "ratio kept": (
        "By {name}, the {kind} rate of {low}, {rate}, is {ratio} times the highest, "
        "{highest} of {high} ({level:g}% interval {lower} to {upper}): at least the "
        "limit {limit:g}.",
        "By sex, the selection rate of “F”, 40.0%, is 0.889 times the highest, 45.0% "
        "of “M” (95% interval 0.801 to 0.979): at least the limit 0.8.",
    ),
    "ratio missed": (
        "By {name}, the {kind} rate of {low}, {rate}, is {ratio} times the highest, "
        "{highest} of {high} ({level:g}% interval {lower} to {upper}): below the limit "
        "{limit:g}.",
        "By sex, the selection rate of “F”, 20.0%, is 0.444 times the highest, 45.0% "
        "of “M” (95% interval 0.401 to 0.489): below the limit 0.8.",
    ),
    "no ratio": (
        "By {name}, there is no impact ratio to compare with the limit {limit:g}.",
        "By sex, there is no impact ratio to compare with the limit 0.8.",
    ),
    "value kept": (
        "By {name}, {title} is {value}{ends}: at most the limit {limit:g}.",
        "By sex, MCDP(0) is 0.031 (0.006 to 0.049): at most the limit 0.1.",
    ),
    "value missed": (
        "By {name}, {title} is {value}{ends}: above the limit {limit:g}.",
        "By sex, MCDP(0) is 0.359 (0.334 to 0.375): above the limit 0.1.",
    ),
    "no value": (
        "By {name}, {title} was not computed, so not compared with {limit:g}{why}.",
        "By sex, mcdp was not computed, so not compared with 0.1: it needs y_score; "
        "demographic_parity_difference compares decisions.",
    ),
    "limit inside": (
        "The interval contains the limit, so these rows cannot tell for sure.",
        "The interval contains the limit, so these rows cannot tell for sure.",
    ),
    # What is left out, and what to read with care.
    "rows left out": (
        "{rows} ({share}) without a value of {columns} {verb} left out of every "
        "number.",
        "60 rows (9.1%) without a value of “y” are left out of every number.",
    ),
    "groups left out of": (
        "The rows left out are {groups}.",
        "The rows left out are 6.7% of “sex: F” and 10.0% of “sex: M”.",
    ),
    "unsettled": (
        "{name}: the p-value of “{metric}”, {pvalue} from {n} random groupings, is "
        "near its limit of {level}: other random groupings may change the verdict, and "
        "more of them settle it.",
        "sex: the p-value of “Equalized odds”, 0.010 from 199 random groupings, is "
        "near its limit of 0.017: other random groupings may change the verdict, and "
        "more of them settle it.",
    ),
    "no group": (
        "{name}: {rows} ({share}) without a group {verb} left out.",
        "sex: 41 rows (6.8%) without a group are left out.",
    ),
    "small groups left out": (
        "{name}: {groups} with fewer than {rows} cannot be compared and {verb} left "
        "out: {labels}, together {share} of the rows.",
        "race: 1 group with fewer than 10 rows cannot be compared and is left out: "
        "“rare” (4), together 0.7% of the rows.",
    ),
    "few of a label": (
        "{name}: error rates of groups with fewer than {rows} of a true label are left "
        "out: {cells}.",
        "race: error rates of groups with fewer than 10 rows of a true label are left "
        "out: “Other” with the true label “1” (3).",
    ),
    "nothing compared": (
        "{name}: nothing can be compared, since {groups} of {n} {verb} at least "
        "{rows}.",
        "sex: nothing can be compared, since 1 group of 1 has at least 10 rows.",
    ),
    "small groups": (
        "{name}: {n} of {groups} groups {verb} fewer than {rows}: {labels}.",
        "race: 2 of 5 groups have fewer than 100 rows: “Other” (46) and “Inuit” (55).",
    ),
    "small rates": (
        "A rate in the smallest is uncertain by up to {error} percentage points either "
        "way, and the largest difference tends to be found where groups are small.",
        "A rate in the smallest is uncertain by up to 14 percentage points either way, "
        "and the largest difference tends to be found where groups are small.",
    ),
    "join small groups": (
        "Small groups can be joined to one.",
        "Small groups can be joined to one.",
    ),
    "several attributes": (
        "Groups of several attributes together, such as older women, are not compared.",
        "Groups of several attributes together, such as older women, are not compared.",
    ),
    "weighted": (
        "Rows are weighted: group sizes count rows, and {what} add up weights.",
        "Rows are weighted: group sizes count rows, and rates and metrics add up "
        "weights.",
    ),
    "untested groups": (
        "Which groups differ from the rest is not tested of {rows}.",
        "Which groups differ from the rest is not tested of weighted rows.",
    ),
    "people": (
        "The {rows} are those of {n} people: people, not rows, were {done}. Values are "
        "those of rows.",
        "The 1,200 rows are those of 60 people: people, not rows, were shuffled for "
        "p-values and counted for intervals. Values are those of rows.",
    ),
    "independent rows": (
        "Rows are taken to be independent: where people have several, p-values are too "
        "small and intervals too narrow.",
        "Rows are taken to be independent: where people have several, p-values are too "
        "small and intervals too narrow.",
    ),
    "independent people": (
        "People are taken to be independent; the rows of one count together, as if "
        "they were alike.",
        "People are taken to be independent; the rows of one count together, as if "
        "they were alike.",
    ),
    "intervals": (
        "Intervals hold at {level:g}% confidence, one metric at a time, for all pairs "
        "of groups at once.",
        "Intervals hold at 95% confidence, one metric at a time, for all pairs of "
        "groups at once.",
    ),
    "permutations": (
        "“By chance” is the mean of a metric when groups are assigned to {units} at "
        "random, {n} times, and the p-value the share of these values, and the one "
        "found, that are at least as large; of several pairs it is that of the pair "
        "that decides, which stands out most beside what chance gives each pair. It "
        "has a row of its own where the value is that of another pair.",
        "“By chance” is the mean of a metric when groups are assigned to rows at "
        "random, 199 times, and the p-value the share of these values, and the one "
        "found, that are at least as large; of several pairs it is that of the pair "
        "that decides, which stands out most beside what chance gives each pair. It "
        "has a row of its own where the value is that of another pair.",
    ),
    "small p-values": (
        "A small p-value means that there is a difference, not that it is large or "
        "unjust. An interval, which holds for all pairs at once, may reach 0 beside "
        "it.",
        "A small p-value means that there is a difference, not that it is large or "
        "unjust. An interval, which holds for all pairs at once, may reach 0 beside "
        "it.",
    ),
    "resampled": (
        "Intervals of {names} are basic bootstrap intervals of {n} resamples, which "
        "are approximate; where they lie below the value, their upper end is the "
        "value.",
        "Intervals of “DCP” and “Calibration gap” are basic bootstrap intervals of 500 "
        "resamples, which are approximate; where they lie below the value, their upper "
        "end is the value.",
    ),
    "differs from the rest": (
        "“Differs from the rest” is an exact test of a rate of each group against that "
        "of all other rows: of the groups said to differ, at most 5% are expected "
        "to be false findings.",
        "“Differs from the rest” is an exact test of a rate of each group against that "
        "of all other rows: of the groups said to differ, at most 5% are expected "
        "to be false findings.",
    ),
    "no tests": (
        "No test was made, so that intervals alone say how much may be noise.",
        "No test was made, so that intervals alone say how much may be noise.",
    ),
    "ranks": (
        "Scores are compared by their ranks among everyone, from 0 for the lowest to 1 "
        "for the highest. What needs probabilities is left out: log loss, calibration "
        "and mean scores.",
        "Scores are compared by their ranks among everyone, from 0 for the lowest to 1 "
        "for the highest. What needs probabilities is left out: log loss, calibration "
        "and mean scores.",
    ),
    "no decisions": (
        "Decisions and errors are left out, since neither decisions nor a threshold "
        "were given.",
        "Decisions and errors are left out, since neither decisions nor a threshold "
        "were given.",
    ),
    "counted scores": (
        "Close {scores} were counted as one, which moves MCDP(0) by at most {of_mcdp} "
        "and {others} by at most {length}; it moves other numbers little.",
        "Close scores were counted as one, which moves MCDP(0) by at most 0.0004 and "
        "ABCC by at most 0.00002; it moves other numbers little.",
    ),
    "metric undefined": (
        "{where} {finding}.",
        "race: Equalized odds difference cannot be computed: no two groups have 10 "
        "rows or more of one true label.",
    ),
    "metric note": (
        "{where}: {note}",
        "race: DCP: Undefined in 3.0% of shuffles, which count as large.",
    ),
    "search ended": (
        "Certified to lie between {lower} and {upper}; the search ended after "
        "{seconds:g} s.",
        "Certified to lie between 3.1% and 4.2%; the search ended after 20 s.",
    ),
    "undefined shuffles": (
        "Undefined in {share} of shuffles, {treated}.",
        "Undefined in 3.0% of shuffles, which count as large.",
    ),
    "search too long": (
        "No interval and no test: the search takes too long to repeat.",
        "No interval and no test: the search takes too long to repeat.",
    ),
    "loose": (
        "The interval holds for any such metric, and is loose.",
        "The interval holds for any such metric, and is loose.",
    ),
    # Tables of groups, of impact ratios, of pooled rates and of strata.
    "average group": (
        "The rate of the average group is the mean of the selection rates of all "
        "groups, each of which counts the same; in that of everyone, large ones count "
        "more.",
        "The rate of the average group is the mean of the selection rates of all "
        "groups, each of which counts the same; in that of everyone, large ones count "
        "more.",
    ),
    "order of groups": (
        "The groups furthest from the average group come first.",
        "The groups furthest from the average group come first.",
    ),
    "same rates": (
        "All groups have the same {what}, {rate}.",
        "All groups have the same selection rate, 40.0%.",
    ),
    "smallest ratio": (
        "{high} has the highest {what}, {highest}; the smallest ratio to it, {ratio}, "
        "is that of {low}, {rate} ({level:g}% interval of the ratio {lower} to "
        "{upper}).",
        "“M” has the highest selection rate, 45.0%; the smallest ratio to it, 0.444, "
        "is that of “F”, 20.0% (95% interval of the ratio 0.401 to 0.489).",
    ),
    "no ratios": (
        "There are no ratios: too few groups, or no {what} above 0.",
        "There are no ratios: too few groups, or no selection rate above 0.",
    ),
    "excluded": (
        "Too small to be compared: {groups}.",
        "Too small to be compared: “c”.",
    ),
    "unknown": (
        "{rows} of unknown group have no part in it.",
        "7 rows of unknown group have no part in it.",
    ),
    "pooled": (
        "A pooled rate borrows from the margins: from all groups with the same "
        "{columns}, the more the fewer rows its own group has. The {level:g}% "
        "intervals are meant to hold for {level:g}% of the groups, not for each one; "
        "95% intervals held for 93.5% of the groups of 20 to 100 rows in ten tables. "
        "Metrics and tests are those of raw rates.",
        "A pooled rate borrows from the margins: from all groups with the same sex or "
        "race, the more the fewer rows its own group has. The 95% intervals are meant "
        "to hold for 95% of the groups, not for each one; 95% intervals held for 93.5% "
        "of the groups of 20 to 100 rows in ten tables. Metrics and tests are those of "
        "raw rates.",
    ),
    "strata": (
        "Groups are compared within each {names}, of which there are {n}, with {rows}.",
        "Groups are compared within each department, of which there are 6, with 4,526 "
        "rows.",
    ),
    "no strata": (
        "No stratum has two groups that can be compared.",
        "No stratum has two groups that can be compared.",
    ),
    "few rows": ("only {rows}", "only 3 rows"),
    "no large group": (
        "no group has {rows} or more",
        "no group has 10 rows or more",
    ),
    "one large group": (
        "only {group} has {rows} or more",
        "only “a” has 10 rows or more",
    ),
    "groups lacking": ("without {groups}", "without “c” (3) and “d” (4)"),
    "strata left out": (
        "Left out{metric}, in whole or in part: {reasons}.",
        "Left out, in whole or in part: “few” (only 3 rows).",
    ),
}


def say(sentence: str, /, **values: Any) -> str:
    """Fill the numbers and names into a sentence.

    Examples
    --------
    >>> from skfair.report._sentences import say
    >>> say("pair differs", pair="“Black” and “White”")
    'The difference between “Black” and “White” is statistically significant.'
    """
    return SENTENCES[sentence][0].format(**values)
