"""Every threshold of the search, with its unit, its meaning, and the benchmark that shows what another costs.

A share or a ratio has no unit; a log ratio is a natural logarithm; phases are of full messages unless said
otherwise. In brackets is what another value does to a row: "access link" of benchmarks.truth.budget (16
networks, seeds 700 to 715), "three modules" of tests/unit/test_locate_rare_limits.py (4 seeds, all right
here), or column "limits" of benchmarks.truth (seeds 1000 to 1019, 2 % noise, 270 of 270 here). A threshold
without brackets is inherited, not justified by a benchmark: benchmarks.truth holds the search as a whole.
"""

# Budgets.
LEAST_BUDGET = 16  # phases, where an all-to-all has fewer
BUDGET_WHERE_CROWDED = 32  # phases, where all hosts are slow alike
RETESTS = 2  # phases in which suspects are measured alone [access link: with 3, no fault in 4 phases]
RESERVE = 2 + RETESTS + 1  # phases kept for the end: two within groups, the retests, one of reference pairs

# Permutations of everybody.
FIRST_PERMUTATIONS = 2  # phases before anything is concluded [access link: with 3, no fault in 4 phases]
BATCH, PHASES_PER_BATCH = 4, 4  # phases, at least; phases so far for each one more: saves inferring
FEWEST_FOR_GROUPS = 9  # phases before they may tell groups [limits: with 5, 108 of 270]
CONFIDENCE = 0.999  # probability that each rank is in its group, before permutations end
FEWEST_WHERE_BLURRED, MORE_WHERE_BLURRED = 6, 2  # the same two counts of phases where latencies are blurred
# Then limits vouch for groups: share of slow messages explained, of ranks unsure (at most), of messages slow.
SURELY_EXPLAINED, FEW_UNSURE, MOSTLY_SLOW = 0.95, 0.25, 0.5

# Hosts of a slower kind.
MOST_OF_KIND = 0.6  # share of all hosts
OTHERS_SLOW = 0.1  # share of messages between others that may be slow
AS_OF_KIND = 0.1  # log ratio by which rates of one kind may differ, with half of it silent or not
SURELY_OF_KIND = 0.7  # share of candidates that stay as slow with half of them silent
# Standard deviations in a median absolute deviation of normal noise: by definition.
DEVIATION_OF_MEDIAN = 1.4826

# Short messages.
FIRST_SHORT, MORE_SHORT = 4, 2  # short phases at first, and in each further batch
SHORT_PER_MORE = 8  # short phases so far for each one more in a batch
SHORT_PER_DOUBLING, FEWEST_SHORT = 3, 24  # short phases at most: for each doubling of the ranks, or this many
# Or, where latency is clear, for each group; and never more than this many.
SHORT_PER_GROUP, MOST_SHORT = 1.5, 600
# Permutations before a blurred latency is asked again: for each doubling of the ranks; share of the budget.
BLURRED_PER_DOUBLING, BLURRED_OF_BUDGET = 3, 0.5
BYTES_OF_LATENCY = 16  # bytes on the wire: less is no latency, Ethernet's smallest frame has 64 (IEEE 802.3)

# Limits that permutations seldom fill.
RARE = 0.05  # share of messages that are slow: with more, groups show without help
# Normal noise has 0.0013 beyond three deviations, longer tails more [three modules: with 0.05, 0 of 4 right].
SLOW_BY_CHANCE = 0.005  # probability that noise makes a message slow
BY_CHANCE = 1e-3  # probability that chance alone makes so many messages of one phase slow
TIMES_AGAIN, MOST_REFUTED = 3, 4  # phases that repeat a suspicion; suspicions given up at most
SLOW_AGAIN = 0.5  # share of repeated messages that are slow again
SPARE = 3  # routes more than just fill the link, from which one more of them is sent
TURNS = 3  # phases, of which one sends whole groups, others try who belongs [three modules: with 2, 3 of 4]
ALL_TRIED, ENOUGH = 6, 12  # phases without a change of groups: before all send whole groups; before it ends
WINDOWS = 8  # parts of the ranks, each shuffled in itself, in a permutation nearly in order
MORE_IN_ORDER, TIMES_IN_ORDER = 0.05, 4  # slow share in the order of numbers: this plus so many times others'

# Trunks and missing limits.
TOURS = 3  # phases that fill all trunks
TOUR_LOADS = (1.0, 0.9)  # share of each group that sends, by turns
MANY_GROUPS = 6  # groups, from which each sends to two others in a tour
EXPLAINED = 0.7  # share of slow messages that limits explain after tours; with less, permutations follow
MOST_FILLINGS = 3  # times that missing limits are filled [limits: with 0, 243 of 270]
LOADS = (1.0, 0.75, 0.9)  # share of hosts that send, a phase each: the total of a limit stays the same
SLOWER_TRUNK = 0.8  # ratio to the median trunk: one below holds others back
NEARLY_ALL = 0.85  # ratio to what hosts can send: a trunk that carried this has no limit
LIMITS_OF_ONE_TRUNK = 2  # limits, one a direction: by definition

# Hosts, and what all of a group share.
SLOW_WITHIN = 0.2  # share of messages within groups: fewer that are slow are slow hosts' own
ALWAYS = 0.99  # share of a suspect's messages that are slow: all, but for rounding
SOUND = 0.9  # ratio to the ordinary rate: slower hosts tell nothing of their group
REFERENCE_PAIRS, RANKS_A_PAIR = 4, 8  # pairs at most; ranks for each: a quarter of the ranks takes part
REFERENCE_TRIES = 2  # times that they are measured, if the first gave nothing
FASTER, TIMES_NOISE = 0.05, 4.0  # log ratio by which they are faster; in standard errors of their median
SMALLEST_GROUP_OF_PARTS = 8  # ranks of a group that is looked into
MOST_PART_PHASES, FIRST_PART_PHASES, PART_BATCH = 32, 12, 4  # phases: in all, before a guess, between guesses
GUESSES_AGREE = 3  # guesses in a row that end it

# One slow cable among several that a hash chooses from.
DRAWS_A_CABLE = 3  # routes of each group for each of its cables: e^-3 of the cables are not drawn
BUDGET_OF_CABLES = 48  # phases, where an all-to-all has fewer
MOST_OF_CABLES = 64  # phases at most
CABLES_AGAIN = 6  # phases kept to measure slow routes again, as the only ones of their groups
CABLES_A_MESSAGE = 4  # cables of a group for each message that leaves it: few meet
TRIES_OF_CABLES = 8  # destinations tried for each source

# What would be told as a fault is measured again, beyond the budget.
MOST_AGAIN = 8  # phases, of hosts and of routes
MOST_TRUNKS_AGAIN = 4  # phases, of these, of trunks: two for each
MOST_ROUTES_AGAIN = 64  # routes, the slowest of those that would be told
RANKS_A_SUSPECT = 16  # ranks of a group for each suspect of it in one phase
