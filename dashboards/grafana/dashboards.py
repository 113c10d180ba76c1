# SPDX-License-Identifier: Apache-2.0
"""The single source of the dashboards. Change it, run generate.py, commit both. docs/reference/metrics.md says what each metric means."""

from elements import (BLUE, GREEN, HOST, MODEL, RED, RUN, SCRAPE, YELLOW, address, annotation, bars, choice, graph, history, latest, link, matrix,
                      series, source, sql_graph, sql_stat, sql_table, stat, steps, store, table, timeline, variable)
from elements import STORE as OF_STORE

NONE_IS_GOOD = steps(GREEN, (1, RED))
NONE_IS_CALM = steps(GREEN, (1, YELLOW))
# A unit test compares this, and AGE's first step, with those of `plumb report --dashboard` (reporting/content/store/store_pages.hpp).
NEAR_BOUND = steps(RED, (0.5, YELLOW), (0.8, GREEN))
SLOWER = steps(GREEN, (1.02, YELLOW), (1.05, RED))
FASTER = steps(RED, (0.98, BLUE), (1.02, GREEN))
AGE = steps(GREEN, (36 * 3600, YELLOW), (7 * 86400, RED))
DISTURBED = steps(GREEN, (0.05, YELLOW), (0.2, RED))
OF_CLASS = steps(RED, (0.9, YELLOW), (0.95, GREEN), (1.05, YELLOW), (1.1, RED))
NOISE = steps(GREEN, (0.01, YELLOW), (0.05, RED))

#: States of plumb_regression_state as numbers, the gravest last, for rows that are coloured by them.
STATES = {"no_baseline": "text", "inconclusive": "text", "equivalent": GREEN, "improved": BLUE, "suspected": YELLOW, "regressed": "orange",
          "broken": RED}


def named(*names_and_colors):
    """Texts and colours for the values 0, 1, 2…"""
    return [{"type": "value", "options": {str(i): {"text": name, "color": color, "index": i} for i, (name, color) in enumerate(names_and_colors)}}]


STATE_NAMES, NO_YES, DOWN_UP = named(*STATES.items()), named(("no", GREEN), ("yes", RED)), named(("down", RED), ("up", GREEN))
TO_MODEL = ("Model", "/d/plumb-model?${__url_time_range}&var-model=${__data.fields.Model}&var-batch=${__data.fields.Batch}"
                     "&var-dtype=${__data.fields.Type}")
TO_REPORT = ("Report", "${reports}/models/${__data.fields.Model}", True)
TO_DEVICE = ("Runner health", "/d/plumb-runners?${__url_time_range}&var-device=${__data.fields.Device}")
TO_COMMIT = ("Commit", "${commits}/${__data.fields.Commit}", True)
TO_RUNNERS = ("Runner health", "/d/plumb-runners?${__url_time_range}&var-suite=${__data.fields.Suite}")
MODEL_LINE = "{{model}} · batch {{batch}} · {{dtype}} {{dims}} · {{device}}"
RUN_LINE = "{{suite}} · {{device}} · {{stack}}"
WHERE = "{{device}} · {{stack}}"
INSTANCE = ("model", "batch", "dtype", "dims", "device")
OF_SUITE = (*RUN, "suite")
#: What a model is beside its stack, for comparing two of those.
BESIDE_STACK = tuple(label for label in MODEL if label != "stack")


def in_state(state, metric):
    """How many models are in a state in any mode, over one measured quantity; 0 where there are results and none is."""
    return f"sum(max without (mode) ({latest('plumb_regression_state', MODEL, metric=metric, state=state)}))"


def state_number(window):
    """The regression state as a number, one series for each quantity of a model."""
    return " or ".join(f"{number} * (max without (state) ({window('plumb_regression_state', MODEL, state=name)}) == 1)"
                       for number, name in enumerate(STATES))


def latency(window, **where):
    return window("plumb_model_latency_seconds", MODEL, **where)


def bound(window, kind, stat_name="value"):
    return window("plumb_model_bound_seconds", MODEL, kind=kind, stat=stat_name)


def bound_ratio(window):
    return window("plumb_model_normalized_bound_ratio", MODEL, kind="$kind")


def age(by, labels):
    """Time since the newest run finished."""
    return f"time() - max by ({by}) ({latest('plumb_run_timestamp_seconds', labels, event='finished')})"


def of_stack(stack, metric, **where):
    """The newest value of one stack, for each model."""
    return f"max by (model, batch, dtype, dims, device, threads, system) ({latest(metric, BESIDE_STACK, stack=stack, **where)})"


def speed_up(metric, **where):
    """Baseline ÷ candidate of each model that both stacks have: above 1 the candidate is faster."""
    return f"{of_stack('$baseline', metric, **where)} / {of_stack('$candidate', metric, **where)}"


def operators(window, labels=MODEL, **where):
    """Times by operator, each layer by itself."""
    return f"sum by (operator) ({window('plumb_model_operator_seconds', labels, mode='plain', **where)})"


CHOICES = {"job": ("Job", "Scrape jobs of Prometheus"), "instance": ("Instance", "Exporters"), "device": ("Device", "Processors and accelerators"),
           "stack": ("Stack", "Sets of library versions"), "model": ("Model", "Models of the suites"), "batch": ("Batch", "Batch sizes"),
           "dtype": ("Type", "Data types"), "dims": ("Sizes", "Sizes of models that have more than a batch, such as a sequence's length"),
           "suite": ("Suite", "Sets of models that are measured together"), "host": ("Host", "Machines that measure")}
KIND = choice("kind", "Bound", ["library", "hardware"], "The bound that times are put in proportion to")


def variables(metric, *names, single=()):
    """The choices that every dashboard begins with, then those that are asked for, each narrowed by the ones before it."""
    found, before = [source()], ()
    for name in (*SCRAPE, *names):
        heading, description = CHOICES[name]
        found.append(variable(name, heading, metric, before, description, multi=name not in single))
        before = (*before, name)
    return [*found, choice("window", "Newest within", ["2d", "7d", "30d", "1d"], "How old a result may be to count as the newest"),
            address("reports", "Report server", "http://127.0.0.1:9779", "Where `plumb serve` shows runs and models")]


def stack_variable(name, heading, description, descending=False):
    return variable(name, heading, "plumb_model_latency_seconds", SCRAPE, description, label="stack", multi=False, descending=descending)


def upgrades():
    """Marks where a version of a library appears."""
    count, versions = "count by (stack, library, version)", series("plumb_stack_info", SCRAPE)
    return annotation("Upgrades", f"{count} (last_over_time({versions}[1h])) unless {count} (last_over_time({versions}[30d] offset 1h))",
                      "{{library}} {{version}}", "New in stack {{stack}}", BLUE)


def change_points():
    """Marks where a confirmed change of a model begins."""
    most = "max by (model, batch, dtype, dims, stack, metric, state)"
    states = series("plumb_regression_state", MODEL, state="broken|regressed|improved")
    return annotation("Confirmed changes", f"{most} (last_over_time({states}[1h])) == 1 unless {most} (last_over_time({states}[2d] offset 1h)) == 1",
                      "{{model}} {{state}}", "{{metric}} of {{model}}, batch {{batch}}, {{dtype}}, stack {{stack}}", RED)


OVERVIEW = {
    "name": "overview", "title": "Plumbline / Overview", "span": "30d",
    "description": "How far every model is from its bound, what got worse, and whether results still arrive",
    "variables": [*variables("plumb_model_latency_seconds", "device", "stack", "model", "batch", "dtype", "dims"), KIND],
    "annotations": [upgrades(), change_points()],
    "rows": [
        ("Now", [
            stat("Broken", "Models that worked in the baseline and do not any more", in_state("broken", "latency"), thresholds=NONE_IS_GOOD),
            stat("Regressed", "Models slower than the baseline in the newest two comparable runs", in_state("regressed", "latency"),
                 thresholds=NONE_IS_GOOD),
            stat("Suspected", "Models that only the newest run shows slower", in_state("suspected", "latency"), thresholds=NONE_IS_CALM),
            stat("Capability lost", "Models whose library bound got worse, confirmed", in_state("regressed", "bound_library"),
                 thresholds=NONE_IS_CALM),
            stat("Improved", "Models faster than the baseline", in_state("improved", "latency"), thresholds=steps("text", (1, GREEN))),
            stat("Bounds violated", "End-to-end times below their bound: one of the two is wrong",
                 f"sum({latest('plumb_model_bound_violated', MODEL)})", thresholds=NONE_IS_CALM),
            stat("Bound ÷ end to end", "Geometric mean over the models: 100% is at the bound", f"exp(avg(ln({bound_ratio(latest)})))",
                 "percentunit", NEAR_BOUND),
            stat("Oldest suite", "Time since the suite that waits longest last finished, on any stack", f"max({age('suite, device, system', RUN)})",
                 "s", AGE),
        ]),
        ("Distance to the bound", [
            matrix("Bound ÷ end to end now", "Each model beside each device and stack: green is near its bound, red far from it",
                   f"max by (model, batch, dtype, dims, device, stack) ({bound_ratio(latest)})",
                   ("model", "batch", "dtype", "dims"), ("device", "stack"), "percentunit"),
            timeline("Bound ÷ end to end over time", "One cell for each run: where a model's distance to its bound changed",
                     (bound_ratio(history), f"{MODEL_LINE} · {{{{stack}}}}"), unit="percentunit", status=True, size=(12, 12)),
            graph("Geometric mean of bound ÷ end to end", "How near each stack is to its bounds over all models that were measured",
                  (f"exp(avg by (device, stack) (ln({bound_ratio(history)})))", WHERE), unit="percentunit"),
            graph("Models by verdict", "How many models, each mode by itself, are in each state against their baseline",
                  (f"sum by (state) ({history('plumb_regression_state', MODEL, metric='latency')})", "{{state}}"), unit="none", stacked=True),
        ]),
        ("Changes", [
            table("Changes against the baseline", "Every quantity that is broken, regressed, suspected or improved; the ratio is newest ÷ baseline",
                  (*INSTANCE, "stack", "mode", "metric", "state"),
                  [(None, "none", f"{latest('plumb_regression_state', MODEL, state='broken|regressed|suspected|improved')} == 1"),
                   ("Ratio", "none", f"{latest('plumb_regression_ratio', MODEL)} * ignoring (state) group_right () "
                                     f"({latest('plumb_regression_state', MODEL, state='broken|regressed|suspected|improved')} == 1)")],
                  links={"Model": (TO_MODEL, TO_REPORT)}, colors={"Ratio": SLOWER}, sort=("Ratio", True)),
        ]),
        ("Fleet", [
            table("Suites", "Every suite on every device and stack: when it last finished, and how well", ("suite", "device", "stack"),
                  [("Age", "s", age("suite, device, stack", RUN)),
                   ("Incomplete models", "none", f"sum by (suite, device, stack) ({latest('plumb_run_models', RUN, state='incomplete')})"),
                   ("Failed rows", "none", "sum by (suite, device, stack) "
                                           f"({latest('plumb_run_rows', RUN, outcome='crashed|timed_out|out_of_memory')})"),
                   ("Disturbed", "percentunit", latest("plumb_run_disturbed_ratio", RUN))],
                  links={"Suite": (TO_RUNNERS,)}, colors={"Age": AGE, "Incomplete models": NONE_IS_CALM, "Disturbed": DISTURBED}, sort=("Age", True)),
        ]),
    ],
}

ONE_MODEL = {
    "name": "model", "title": "Plumbline / Model", "span": "30d", "report": "/models/${model:percentencode}",
    "description": "One model: its time, its bounds, what optimisations would bring, and when something changed",
    "variables": [*variables("plumb_model_latency_seconds", "device", "stack", "model", "batch", "dtype", "dims",
                             single=("model", "batch", "dtype")), KIND],
    "annotations": [upgrades(), change_points()],
    "rows": [
        ("Now", [
            stat("End to end", "Median of the newest run, in the fastest mode", f"min({latency(latest, stat='median')})", "s"),
            stat("Library bound", "What this stack could reach with its own parts, in its best mode", f"min({bound(latest, 'library')})", "s"),
            stat("Hardware bound", "What no library can beat on this device", f"min({bound(latest, 'hardware')})", "s"),
            stat("Bound ÷ end to end", "100% is at the bound", f"max({bound_ratio(latest)})", "percentunit", NEAR_BOUND),
            stat("Newest ÷ baseline", "End to end; above 1 is slower", f"max({latest('plumb_regression_ratio', MODEL, metric='latency')})",
                 thresholds=SLOWER),
            stat("Best what-if", "The largest predicted speed-up", f"max({latest('plumb_whatif_speedup_ratio', MODEL, result='predicted')})"),
            stat("Layers without a time", "Unsupported or not measured: bounds that lack them are incomplete",
                 f"sum({latest('plumb_model_layers', MODEL, state='unsupported|missing')})", thresholds=NONE_IS_CALM),
            stat("Bounds complete", "Share of the bounds in which no layer is missing", f"avg({latest('plumb_model_bound_complete', MODEL)})",
                 "percentunit", steps(YELLOW, (1, GREEN))),
        ]),
        ("History", [
            graph("End to end and bounds", "Median with its interval, beside what could be reached; marks are upgrades and confirmed changes",
                  *((f"min by (mode, scenario, device, stack) ({latency(history, stat=end)})", f"{end} · {{{{mode}}}} · {WHERE}")
                    for end in ("median", "low", "high")),
                  (f"min by (kind, device, stack) ({bound(history, 'hardware|library|library_parallel|predicted')})", f"{{{{kind}}}} · {WHERE}"),
                  unit="s", size=(24, 11), faint="/^(low|high) ·/"),
            timeline("Verdicts", "Each quantity of the model against its baseline",
                     (state_number(history), f"{{{{metric}}}} · {{{{mode}}}} · {WHERE}"), mappings=STATE_NAMES, size=(12, 8)),
            graph("Bound ÷ end to end", "How near the model is to each bound of the same run",
                  (history("plumb_model_normalized_bound_ratio", MODEL), f"{{{{kind}}}} · {{{{mode}}}} · {WHERE}"), unit="percentunit",
                  size=(12, 8)),
            graph("Spread", "Percentiles of the end-to-end time",
                  (latency(history, stat="median|p90|p99"), f"{{{{stat}}}} · {{{{scenario}}}} · {WHERE}"), unit="s", size=(12, 8)),
            graph("Time by operator", "Best hot times of the layers, nothing fused, summed by operator over the chosen devices and stacks",
                  (operators(history), "{{operator}}"), unit="s", stacked=True, size=(12, 8)),
        ]),
        ("Loads, memory and energy", [
            table("Loads", "The newest load by each scenario of MLPerf; the verdict says whether its numbers may be used",
                  ("scenario", "mode", "device", "stack"),
                  [("Valid", "bool_yes_no", latest("plumb_load_state", MODEL, state="valid")),
                   ("Queries a second", "none", latest("plumb_load_queries_per_second", MODEL)),
                   ("Samples a second", "none", latest("plumb_load_samples_per_second", MODEL)),
                   ("Median", "s", latest("plumb_load_latency_seconds", MODEL, stat="median")),
                   ("99 %", "s", latest("plumb_load_latency_seconds", MODEL, stat="p99")),
                   ("Limit", "s", latest("plumb_load_latency_limit_seconds", MODEL))], sort=("Scenario", False), size=(24, 8)),
            graph("Latency under load", "Percentiles of the queries of each load, beside the limit that the load must keep",
                  (history("plumb_load_latency_seconds", MODEL, stat="median|p90|p99"), f"{{{{stat}}}} · {{{{scenario}}}} · {{{{mode}}}} · {WHERE}"),
                  (history("plumb_load_latency_limit_seconds", MODEL), f"limit · {{{{scenario}}}} · {{{{mode}}}} · {WHERE}"),
                  unit="s", faint="/^limit ·/"),
            graph("Scores", "Rates of valid server and offline loads: queries, or samples, a second",
                  (history("plumb_load_score_per_second", MODEL), f"{{{{scenario}}}} · {{{{mode}}}} · {WHERE}"), unit="none"),
            graph("Memory", "What one execution is planned to take: weights, inputs and everything between",
                  (history("plumb_model_memory_bytes", MODEL), f"{{{{mode}}}} · {WHERE}"), unit="bytes"),
            graph("Energy", "Energy of one execution by the GPU's counter, the idle GPU's share included",
                  (history("plumb_model_energy_joules", MODEL, stat="median"), f"{{{{mode}}}} · {WHERE}"), unit="joule"),
        ]),
        ("What could be done", [
            bars("Predicted speed-up", "What each optimisation would bring, by the layers' times",
                 (latest("plumb_whatif_speedup_ratio", MODEL, result="predicted"), f"{{{{whatif}}}} · {WHERE}"), unit="none", size=(12, 9)),
            table("What-ifs", "Predicted and, where it was switched on, realised speed-up; the error is relative to the time now",
                  ("whatif", "device", "stack"),
                  [("Predicted", "none", latest("plumb_whatif_speedup_ratio", MODEL, result="predicted")),
                   ("Realised", "none", latest("plumb_whatif_speedup_ratio", MODEL, result="realised")),
                   ("Error", "percentunit", latest("plumb_whatif_prediction_error_ratio", MODEL, stat="value"))], size=(12, 9), sort=("Predicted", True)),
            table("Bounds", "Every bound with its interval, and whether all layers are in it", ("kind", "mode", "device", "stack"),
                  [("Time", "s", latest("plumb_model_bound_seconds", MODEL, stat="value")),
                   ("Low", "s", latest("plumb_model_bound_seconds", MODEL, stat="low")),
                   ("High", "s", latest("plumb_model_bound_seconds", MODEL, stat="high")),
                   ("Complete", "bool_yes_no", latest("plumb_model_bound_complete", MODEL))], sort=("Time", False)),
        ]),
    ],
}

LAYERS = {
    "name": "layers", "title": "Plumbline / Layers", "span": "30d", "report": "/models/${model:percentencode}",
    "description": "Where the time of a model goes: its slowest layers, how they are executed, and what changed about that",
    "variables": variables("plumb_layer_seconds", "device", "stack", "model", "batch", "dtype", "dims", single=("model", "batch", "dtype")),
    "annotations": [upgrades(), change_points()],
    "rows": [
        ("Slowest layers", [
            bars("Slowest layers now", "Best hot time of each; the exporter gives the ten slowest of a model",
                 (f"sort_desc(max by (layer, device, stack) ({latest('plumb_layer_seconds', MODEL)}))", f"{{{{layer}}}} · {WHERE}"),
                 unit="s", size=(12, 12)),
            table("How they are executed", "Operator and algorithm of each of the slowest layers",
                  ("layer", "operator", "algorithm", "device", "stack"),
                  [("Time", "s", latest("plumb_layer_seconds", MODEL))], size=(12, 12), sort=("Time", True)),
            graph("Slowest layers over time", "A step without an upgrade is worth a look; another algorithm is another line",
                  (f"max by (layer, algorithm, device, stack) ({history('plumb_layer_seconds', MODEL)})",
                   f"{{{{layer}}}} · {{{{algorithm}}}} · {WHERE}"),
                  unit="s", size=(24, 11)),
        ]),
        ("Algorithms", [
            table("Algorithms within the time range", "Two rows of one layer on one stack are a change of algorithm",
                  ("layer", "operator", "algorithm", "device", "stack"),
                  [("Slowest", "s", f"max_over_time({series('plumb_layer_seconds', MODEL)}[$__range])"),
                   ("Fastest", "s", f"-max_over_time((-{series('plumb_layer_seconds', MODEL)})[$__range:5m])"),
                   ("Last seen", "dateTimeAsIso", f"1000 * max_over_time(timestamp({series('plumb_layer_seconds', MODEL)})[$__range:5m])")],
                  size=(24, 10), sort=("Layer", False)),
            graph("Layers by algorithm", "How many of the slowest layers each algorithm executes",
                  (f"count by (algorithm) ({history('plumb_layer_seconds', MODEL)})", "{{algorithm}}"), unit="none", stacked=True),
            graph("Share of operators", "Best hot times by operator, nothing fused, as shares of their sum",
                  (f"{operators(history)} / on () group_left () sum({operators(history)})", "{{operator}}"), unit="percentunit", stacked=True,
                  maximum=1),
        ]),
    ],
}

COMPARISON = {
    "name": "stacks", "title": "Plumbline / Stack comparison", "span": "30d",
    "description": "Two sets of library versions side by side, on the models that both have. Verdicts are `plumb compare`'s; this shows sizes",
    "variables": [*variables("plumb_model_latency_seconds", "device", "model", "batch", "dtype", "dims"),
                  stack_variable("baseline", "Baseline", "The stack that is compared with"),
                  stack_variable("candidate", "Candidate", "The stack that is judged", descending=True)],
    "annotations": [upgrades()],
    "rows": [
        ("In sum", [
            stat("Geometric mean", "Speed-up of the candidate over all models that both stacks have; above 1 it is faster",
                 f"exp(avg(ln({speed_up('plumb_model_latency_seconds', stat='median')})))", thresholds=FASTER, size=(4, 4)),
            stat("Slower models", "Models that take over 2% longer on the candidate",
                 f"count({speed_up('plumb_model_latency_seconds', stat='median')} < 0.98) or vector(0)", thresholds=NONE_IS_CALM, size=(4, 4)),
            stat("Faster models", "Models that take over 2% less on the candidate",
                 f"count({speed_up('plumb_model_latency_seconds', stat='median')} > 1.02) or vector(0)", thresholds=steps("text", (1, GREEN)),
                 size=(4, 4)),
            stat("Models compared", "Models that both stacks have", f"count({speed_up('plumb_model_latency_seconds', stat='median')})", size=(4, 4)),
            stat("Bounds", "Geometric mean of the library bounds' speed-up: what the candidate could bring",
                 f"exp(avg(ln({speed_up('plumb_model_bound_seconds', kind='library', stat='value')})))", thresholds=FASTER, size=(4, 4)),
            stat("Broken on the candidate", "Quantities that worked in the candidate's own baseline and do not any more",
                 f"sum({latest('plumb_regression_state', BESIDE_STACK, stack='$candidate', state='broken')})", thresholds=NONE_IS_GOOD, size=(4, 4)),
        ]),
        ("Side by side", [
            table("Models", "Newest end-to-end medians and library bounds of both; the speed-up is baseline ÷ candidate", INSTANCE,
                  [("Baseline", "s", of_stack("$baseline", "plumb_model_latency_seconds", stat="median")),
                   ("Candidate", "s", of_stack("$candidate", "plumb_model_latency_seconds", stat="median")),
                   ("Speed-up", "none", speed_up("plumb_model_latency_seconds", stat="median")),
                   ("Bound, baseline", "s", of_stack("$baseline", "plumb_model_bound_seconds", kind="library", stat="value")),
                   ("Bound, candidate", "s", of_stack("$candidate", "plumb_model_bound_seconds", kind="library", stat="value"))],
                  links={"Model": (TO_MODEL, TO_REPORT)}, colors={"Speed-up": FASTER}, sort=("Speed-up", False), size=(24, 11)),
            *(graph(f"End to end, {stack}", f"Medians of the {stack}",
                    (history("plumb_model_latency_seconds", BESIDE_STACK, stack=f"${stack}", stat="median"), MODEL_LINE), unit="s")
              for stack in ("baseline", "candidate")),
        ]),
        ("Where from", [
            bars("Speed-up by operator", "Sum of best hot times, baseline ÷ candidate, over the chosen models",
                 (f"{operators(latest, BESIDE_STACK, stack='$baseline')} / {operators(latest, BESIDE_STACK, stack='$candidate')}", "{{operator}}"),
                 unit="none", thresholds=FASTER),
            table("Versions", "What the two stacks are made of", ("stack", "backend", "library", "version"),
                  [(None, "none", latest("plumb_stack_info", SCRAPE, stack="$baseline|$candidate"))], size=(12, 9), sort=("Stack", False)),
        ]),
    ],
}

RUNNERS = {
    "name": "runners", "title": "Plumbline / Runner health", "span": "7d",
    "description": "Whether the machines that measure were quiet, cool and unchanged, and whether every suite finished",
    "variables": [*variables("plumb_run_timestamp_seconds", "device", "stack", "suite"),
                  address("commits", "Commits", "https://example.org/team/repo/commit", "The address of a commit, without the commit at its end")],
    "annotations": [upgrades()],
    "rows": [
        ("Delivery", [
            table("Newest runs", "One row for each suite, device, stack and number of threads", ("suite", "device", "stack", "threads"),
                  [("Age", "s", age("suite, device, stack, threads", OF_SUITE)),
                   ("Took", "s", latest("plumb_run_duration_seconds", OF_SUITE)),
                   ("Complete models", "none", latest("plumb_run_models", OF_SUITE, state="complete")),
                   ("Incomplete models", "none", latest("plumb_run_models", OF_SUITE, state="incomplete"))],
                  colors={"Age": AGE, "Incomplete models": NONE_IS_CALM}, sort=("Age", True), size=(24, 8)),
            table("Commits", "What the newest run of each suite measured, by its labels", ("suite", "device", "stack", "threads", "commit", "branch"),
                  [(None, "none", latest("plumb_run_commit_info", OF_SUITE))], links={"Commit": (TO_COMMIT,)}, sort=("Suite", False), size=(24, 8)),
            graph("Duration", "How long each run took; a suite that slows down spends its budget earlier",
                  (history("plumb_run_duration_seconds", OF_SUITE), RUN_LINE), unit="s"),
            graph("Rows by outcome", "What became of every row of the newest runs",
                  (f"sum by (outcome) ({history('plumb_run_rows', OF_SUITE)})", "{{outcome}}"), unit="none", stacked=True),
        ]),
        ("Conditions", [
            graph("Disturbed rows", "Share of rows that were measured beside other work",
                  (history("plumb_run_disturbed_ratio", OF_SUITE), RUN_LINE), unit="percentunit", thresholds=DISTURBED),
            timeline("Environment changed", "Something other than the stack is not as in the run before",
                     (history("plumb_environment_changed", OF_SUITE), RUN_LINE), mappings=NO_YES, size=(12, 9)),
            timeline("Throttled", "Whether the GPU lowered its clocks while it was measured: for heat, the hardware or the power brake",
                     (history("plumb_run_throttled", OF_SUITE), RUN_LINE), mappings=NO_YES, size=(8, 8)),
            graph("Reasons for lower clocks", "Share of the samples that saw each reason; a power cap by software is no throttling",
                  (history("plumb_run_throttled_ratio", OF_SUITE), f"{{{{reason}}}} · {RUN_LINE}"), unit="percentunit", size=(8, 8), maximum=1),
            graph("Temperature", "Mean and highest temperature of the GPU while it was measured",
                  (history("plumb_run_temperature_celsius", OF_SUITE, stat="mean|high"), f"{{{{stat}}}} · {RUN_LINE}"), unit="celsius", size=(8, 8)),
            graph("Clock of the processor", "Clock when the run began, where the system tells it",
                  (history("plumb_run_clock_hertz", OF_SUITE), RUN_LINE), unit="hertz", size=(8, 8)),
            graph("Clock of the GPU", "Clock of the GPU's cores while it was measured, with the lowest and the highest",
                  *((history("plumb_run_sm_clock_hertz", OF_SUITE, stat=stat_name), f"{stat_name} · {RUN_LINE}") for stat_name in ("mean", "low", "high")),
                  unit="hertz", size=(8, 8), faint="/^(low|high) ·/"),
            graph("Power", "Mean and highest power of the GPU while it was measured",
                  (history("plumb_run_power_watts", OF_SUITE, stat="mean|high"), f"{{{{stat}}}} · {RUN_LINE}"), unit="watt", size=(8, 8)),
            table("Environments", "What identifies each environment that is exported", ("environment", "system", "device", "driver", "instance"),
                  [(None, "none", latest("plumb_environment_info", SCRAPE))], sort=("Device", False), size=(24, 8)),
        ]),
        ("Exporter", [
            timeline("Exporter up", "Whether Prometheus could scrape the exporter", (history("up", SCRAPE), "{{job}} · {{instance}}"),
                     mappings=DOWN_UP, size=(12, 6)),
            graph("Reading the store", "How long the exporter took to read what is new",
                  (history("plumb_store_rebuild_seconds", SCRAPE), "{{instance}}"), unit="s", size=(12, 6)),
            graph("Series", "How many series the exporter gives", (history("plumb_store_series", SCRAPE), "{{instance}}"), unit="none", size=(12, 6)),
            graph("Age of what is served", "Time since the exporter last read its store with success",
                  (f"time() - {history('plumb_store_last_success_timestamp_seconds', SCRAPE)}", "{{instance}}"), unit="s", size=(12, 6)),
        ]),
    ],
}

HOST_LINE = "{{host}} · {{device}} · {{backend}}"
OF_HOST = "host, device, backend, threads"
HOST_AGE = f"time() - max by ({OF_HOST}) ({latest('plumb_host_run_timestamp_seconds', HOST, event='finished')})"

FLEET = {
    "name": "fleet", "title": "Plumbline / Fleet", "span": "30d", "report": "/hosts",
    "description": "All machines that measure into one store: which are silent, noisy, or no longer as fast as equal ones",
    "variables": variables("plumb_host_run_timestamp_seconds", "device", "host"),
    "annotations": [],
    "rows": [
        ("Now", [
            stat("Hosts", "Machines that have measured", f"count(max by ({OF_HOST}) ({latest('plumb_host_run_timestamp_seconds', HOST)}))", size=(6, 4)),
            stat("Silent", "Hosts that have not finished a run for 36 hours", f"count({HOST_AGE} > 36 * 3600) or vector(0)", thresholds=NONE_IS_CALM,
                 size=(6, 4)),
            stat("Left their class", "Hosts whose controls are not as fast as those of equal machines: their runs are not compared",
                 f"sum(max by ({OF_HOST}) ({latest('plumb_host_drifted', HOST)}))", thresholds=NONE_IS_CALM, size=(6, 4)),
            stat("Noisiest", "Largest deviation of the control product over the newest runs of a host",
                 f"max({latest('plumb_host_noise_ratio', HOST)})", "percentunit", NOISE, size=(6, 4)),
        ]),
        ("Hosts", [
            table("Hosts", "Every host with its age, and its controls beside those of its class: 1 is as fast as equal machines",
                  ("host", "device", "backend", "threads", "system"),
                  [("Age", "s", f"time() - {latest('plumb_host_run_timestamp_seconds', HOST, event='finished')}"),
                   ("Product", "none", latest("plumb_host_control_ratio", HOST, control="product")),
                   ("Copy", "none", latest("plumb_host_control_ratio", HOST, control="copy")),
                   ("Noise", "percentunit", latest("plumb_host_noise_ratio", HOST)),
                   ("Left its class", "bool_yes_no", latest("plumb_host_drifted", HOST))],
                  links={"Device": (TO_DEVICE,)}, colors={"Age": AGE, "Product": OF_CLASS, "Copy": OF_CLASS, "Noise": NOISE}, sort=("Age", True),
                  size=(24, 12)),
        ]),
        ("Controls", [
            graph("Product beside its class", "Time of a fixed product relative to equal machines: above 1.1 a host left its class",
                  (f"max by ({OF_HOST}) ({history('plumb_host_control_ratio', HOST, control='product')})", HOST_LINE), unit="none",
                  thresholds=OF_CLASS),
            graph("Copy beside its class", "Time of a fixed copy relative to equal machines: above 1.2 a host left its class",
                  (f"max by ({OF_HOST}) ({history('plumb_host_control_ratio', HOST, control='copy')})", HOST_LINE), unit="none"),
            graph("Times of the controls", "Built-in code that no library touches: a step is the machine's",
                  (f"max by (control, {OF_HOST}) ({history('plumb_host_control_seconds', HOST)})", f"{{{{control}}}} · {HOST_LINE}"), unit="s"),
            timeline("Left its class", "When a host was not as fast as equal machines",
                     (f"max by ({OF_HOST}) ({history('plumb_host_drifted', HOST)})", HOST_LINE), mappings=NO_YES, size=(12, 9)),
        ]),
    ],
}

#: When a run started, and its end; the store has microseconds since 1970.
STARTED, FINISHED = "to_timestamp(r.started / 1e6)", "to_timestamp(r.finished / 1e6)"
#: The runs that the reader chose. Grafana's macros take no nested parentheses.
CHOSEN = "r.started between $__unixEpochFrom() * 1000000::bigint and $__unixEpochTo() * 1000000::bigint and r.suite in ($suite)"
#: The controls of each run, a row for each time that they were measured. Records of other kinds are not parsed.
CONTROLS = ("(select run, payload::json->>'host' as host, (payload::json->>'product_seconds')::double precision as product, "
            "(payload::json->>'copy_seconds')::double precision as copy from derived where kind = 'controls') c join runs r on r.number = c.run")

STORE = {
    "name": "store", "title": "Plumbline / Store", "span": "30d",
    "description": "What a PostgreSQL store holds, asked by SQL: runs, rows and the controls of each host. It needs no exporter",
    "variables": [store(), {**variable("suite", "Suite", "", (), "Sets of models that are measured together"), "datasource": OF_STORE,
                            "query": "select distinct suite from runs order by 1", "definition": "select distinct suite from runs order by 1",
                            "allValue": "select suite from runs"},
                  address("reports", "Report server", "http://127.0.0.1:9779", "Where `plumb serve` shows runs and models")],
    "annotations": [],
    "rows": [
        ("Now", [
            sql_stat("Runs", "Runs that started within the time range", f"select count(*) from runs r where {CHOSEN}"),
            sql_stat("Unfinished", "Runs that were interrupted, or are being measured",
                     f"select count(*) from runs r where r.state <> 'finished' and {CHOSEN}", thresholds=NONE_IS_CALM),
            sql_stat("Rows", "Rows that these runs measured", f"select coalesce(sum(r.rows_ok + r.rows_failed), 0) from runs r where {CHOSEN}"),
            sql_stat("Size", "Bytes of all tables with their indexes",
                     "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace", "bytes"),
        ]),
        ("Runs", [
            sql_table("Newest runs", "The newest thousand runs, with how many rows they have",
                      f"select r.id as \"Run\", r.suite as \"Suite\", r.backend as \"Backend\", r.stack as \"Stack\", {STARTED} as \"Started\", "
                      "(r.finished - r.started) / 1e6 as \"Took\", r.state as \"State\", r.rows_ok as \"Rows\", r.rows_failed as \"Failed\" "
                      f"from runs r where {CHOSEN} order by r.started desc limit 1000",
                      {"Run": "string", "Suite": "string", "Backend": "string", "Stack": "string", "Started": "dateTimeAsIso", "Took": "s",
                       "State": "string", "Rows": "none", "Failed": "none"}, colors={"Failed": NONE_IS_CALM}, sort=("Started", True)),
            sql_graph("Rows a day", "How much was measured, by suite",
                      f"select date_trunc('day', {STARTED}) as time, r.suite as metric, sum(r.rows_ok + r.rows_failed) as value from runs r "
                      f"where {CHOSEN} group by 1, 2 order by 1", "none"),
            sql_graph("Duration", "How long each run took",
                      f"select {STARTED} as time, r.suite || ' · ' || r.stack as metric, (r.finished - r.started) / 1e6 as value from runs r "
                      f"where r.finished is not null and {CHOSEN} order by 1", "s"),
        ]),
        ("Hosts", [
            sql_table("Hosts", "Each host with its newest run within the time range, and the controls of its finished runs",
                      "select c.host as \"Host\", r.backend as \"Backend\", extract(epoch from now()) - max(r.finished) / 1e6 as \"Age\", "
                      "count(distinct r.number) as \"Runs\", percentile_cont(0.5) within group (order by c.product) as \"Product\", "
                      "percentile_cont(0.5) within group (order by c.copy) as \"Copy\", stddev_samp(ln(c.product)) as \"Noise\" "
                      f"from {CONTROLS} where r.state = 'finished' and c.product > 0 and {CHOSEN} group by 1, 2",
                      {"Host": "string", "Backend": "string", "Age": "s", "Runs": "none", "Product": "s", "Copy": "s", "Noise": "percentunit"},
                      colors={"Age": AGE, "Noise": NOISE}, sort=("Age", True)),
            sql_graph("Control product", "Time of a fixed product that no library touches: a step is the machine's",
                      f"select {STARTED} as time, coalesce(c.host, '') || ' · ' || r.backend as metric, min(c.product) as value from {CONTROLS} "
                      f"where {CHOSEN} group by 1, 2 order by 1", "s"),
            sql_graph("Control copy", "Time of a fixed copy that no library touches: a step is the machine's",
                      f"select {STARTED} as time, coalesce(c.host, '') || ' · ' || r.backend as metric, min(c.copy) as value from {CONTROLS} "
                      f"where {CHOSEN} group by 1, 2 order by 1", "s"),
        ]),
    ],
}

ALL = [OVERVIEW, ONE_MODEL, LAYERS, COMPARISON, RUNNERS, FLEET, STORE]
