"""Thresholds of the search: unit, meaning, and the cost of another value in a benchmark.

Shares and ratios have no unit; log ratios are natural logarithms; phases are of full messages unless stated
otherwise. Brackets give the effect of another value in a benchmark: row "access link" of
benchmarks.truth.budget (16 networks, seeds 700 to 715), "three modules" of
tests/unit/test_locate_rare_limits.py (4 seeds, all right with this value), or column "limits" of
benchmarks.truth (seeds 1000 to 1019, 2 % noise, 270 of 270 right with this value). A threshold without
brackets is inherited and not justified by a benchmark of its own; benchmarks.truth tests the search as a
whole.
"""

# Budgets.
LEAST_BUDGET = 48  # phases, if an all-to-all has fewer
MOST_MESSAGES = 2_000_000  # in all phases of the budget, which more than 1,414 hosts would exceed
MOST_MESSAGES_AT_ONCE = 400_000  # in one batch of permutations: a place takes no longer request
RETESTS = 2  # phases in which suspects are measured alone [access link: with 3, no fault in 4 phases]
RESERVE = 2 + RETESTS + 1  # phases kept for the end: two within groups, the retests, one of reference pairs

# Permutations of everybody.
FIRST_PERMUTATIONS = 2  # phases before anything is concluded [access link: with 3, no fault in 4 phases]
BATCH, PHASES_PER_BATCH = 4, 4  # phases at least; phases so far for each further one: saves inferring
# Phases before the search believes that nothing is slow: so many messages, but no more phases than this.
MESSAGES_WHERE_QUIET, MOST_WHERE_QUIET = 384, 16
FEWEST_FOR_GROUPS = 9  # phases before groups are inferred from them [limits: with 5, 108 of 270]
MESSAGES_FOR_GROUPS = 600  # messages before that, up to half of the budget
CONFIDENCE = 0.999  # probability that each rank is in its group, required before permutations end
FEWEST_WHERE_BLURRED, MORE_WHERE_BLURRED = 6, 2  # FEWEST_FOR_GROUPS and BATCH where latencies are blurred
# Limits then confirm groups if they explain more than the first share of slow messages, less than the second
# share of ranks is uncertain, and more than the third share of messages is slow.
SURELY_EXPLAINED, FEW_UNSURE, MOSTLY_SLOW = 0.95, 0.25, 0.5

# Hosts of a slower kind.
MOST_OF_KIND = 0.6  # share of all hosts
OTHERS_SLOW = 0.1  # share of messages between other hosts that may be about as slow
AS_OF_KIND = 0.1  # log ratio by which rates of one kind may differ, with half of it silent or not
SPREAD_OF_KIND = 0.15  # standard deviation of their rates over the gap to other hosts', both log ratios
SURELY_OF_KIND = 0.7  # share of slow messages that stay as slow with half of the candidates silent
# Standard deviation over median absolute deviation for normal noise: a constant.
DEVIATION_OF_MEDIAN = 1.4826

# Short messages.
FIRST_SHORT, MORE_SHORT = 4, 2  # short phases at first, and in each further batch
SHORT_PER_MORE = 8  # short phases so far for each further one in a batch
# Most short phases: per doubling of the ranks, but at least this many.
SHORT_PER_DOUBLING, FEWEST_SHORT = 3, 24
# With clear latency: per group if that is more, up to this many.
SHORT_PER_GROUP, MOST_SHORT = 1.5, 600
SHORT_PER_PAIR = 8  # for each pair of groups, to see whether they are of a wider one
# Permutations before blurred latencies are measured again: per doubling of the ranks; share of the budget.
BLURRED_PER_DOUBLING, BLURRED_OF_BUDGET = 3, 0.5
# Bytes at the hosts' rate: shorter times are no latency (Ethernet's smallest frame has 64 bytes, IEEE 802.3).
BYTES_OF_LATENCY = 16

# Limits that permutations seldom fill.
RARE = 0.05  # largest share of slow messages: with more, groups show without help
# Normal noise has 0.0013 beyond three deviations, longer tails more [three modules: with 0.05, 0 of 4 right].
SLOW_BY_CHANCE = 0.005  # probability that noise makes a message slow
BY_CHANCE = 1e-3  # probability that chance alone makes so many messages of one phase slow
TIMES_AGAIN, MOST_REFUTED = 3, 4  # phases that repeat a suspicion; refuted suspicions before giving up
SLOW_AGAIN = 0.5  # share of repeated messages that are slow again, if the suspicion is right
SPARE = 3  # with this many pairs beyond those that just fit the link, one more message is sent
TURNS = 3  # phases: one with whole groups, the others to find members [three modules: with 2, 3 of 4]
ALL_TRIED, ENOUGH = 6, 12  # phases without a change of groups before only whole groups send; before it ends
# Phases in the order of rank numbers within groups, to see whether a group is several [leaves of six hosts
# whose uplinks carry what 4, 4 and 2 send, 24 seeds: without, the two sound leaves are merged in half].
IN_ORDER_WITHIN = 2
SMALLEST_OF_SEVERAL = 4  # ranks of a group that may be several
NEAR_IN_ORDER = 4  # a distance near the slow one differs by at most this part of it, or by 1
WINDOWS = 8  # parts of the ranks, each shuffled within itself, in a permutation nearly in order
MORE_IN_ORDER, TIMES_IN_ORDER = 0.05, 4  # slow share in numbered order: above MORE plus TIMES times others'

# Trunks and missing limits.
TOURS = 3  # phases that fill all trunks
TOUR_LOADS = (1.0, 0.9)  # share of each group that sends, by turns
MANY_GROUPS = 6  # groups: with as many or more, each sends to two others in a tour
EXPLAINED = 0.7  # share of slow messages that limits explain after tours; with less, more is measured
MOST_FILLINGS = 3  # times that missing limits are filled [limits: with 0, 243 of 270]
LOADS = (1.0, 0.75, 0.9)  # share of hosts that send, a phase each: a limit's total stays the same
SLOWER_TRUNK = 0.8  # ratio to the median trunk, per host: a slower one holds others back
UNEVEN = 1.1  # ratio of the largest group to the median one: in a tour, others cannot fill its trunk
NEARLY_ALL = 0.85  # ratio to what hosts can send: a trunk that carried this has no limit
LIMITS_OF_ONE_TRUNK = 2  # limits, one per direction, by definition

# Hosts, and limits that all of a group share.
SLOW_WITHIN = 0.2  # share of messages within groups that are slow; if fewer, slow hosts are the cause
ALWAYS = 0.99  # share of a suspect's messages that are slow: all, except for rounding
SOUND = 0.9  # ratio to the ordinary rate: slower hosts show nothing about their group
REFERENCE_PAIRS, RANKS_A_PAIR = 4, 8  # pairs at most; ranks for each: a quarter of the ranks takes part
REFERENCE_TRIES = 2  # times that pairs are measured, if the first gave nothing
FASTER, TIMES_NOISE = 0.05, 4.0  # log ratio by which they are faster; in standard errors of their median
SMALLEST_GROUP_OF_PARTS = 8  # ranks of a group that is examined for parts
MOST_PART_PHASES, FIRST_PART_PHASES, PART_BATCH = 32, 12, 4  # phases: in all, before a guess, between guesses
GUESSES_AGREE = 3  # equal guesses in a row that end the stage
FRAMES_LATER = 2  # frames' times on a slow trunk by which latency may set its group apart

# One slow cable among several from which a hash chooses.
DRAWS_A_CABLE = 3  # routes of each group per cable: a share of e^-3 of the cables remains undrawn
MOST_OF_CABLES = 64  # phases at most
CABLES_AGAIN = 6  # phases kept to measure slow routes again, each as the only one of its groups
CABLES_A_MESSAGE = 4  # cables of a group for each message that leaves it: few meet
TRIES_OF_CABLES = 8  # destinations tried for each source

# Suspected faults are measured again.
MOST_AGAIN = 8  # phases beyond the budget
LAST_LOOKS = 3  # phases that measure once more, after a while, what would be reported; of the budget, if left
MOST_TRUNKS_AGAIN = 4  # phases for trunks: up to two for each trunk
MOST_ROUTES_AGAIN = 64  # routes, the slowest of those suspected
RANKS_A_SUSPECT = 16  # ranks of a group for each of its suspects in one phase
