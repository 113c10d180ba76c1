# SPDX-License-Identifier: Apache-2.0
"""What MLCommons' submission checker (inference v6.1) wants of a folder in the open division, as far as Plumbline writes it."""

import json
import re

SEEDS = {"qsl": 2085463073848966840, "sample_index": 2747215439041700203, "schedule": 16159082839903944936}
SAMPLES = {"resnet": 1024, "retinanet": 64, "bert-99": 10833, "3d-unet-99": 43, "yolo-99": 64}
SCORES = {
    "SingleStream": "early_stopping_latency_ss",
    "MultiStream": "early_stopping_latency_ms",
    "Server": "result_completed_samples_per_sec",
    "Offline": "result_samples_per_second",
}
#: Fields of a system that must be there, and those that must not be empty. The checker takes a number 0 for empty.
NOT_EMPTY = """division submitter system_type status system_name number_of_nodes host_processor_model_name host_processors_per_node
    host_processor_core_count host_memory_capacity host_memory_configuration host_storage_capacity host_storage_type host_networking
    host_network_card_count host_networking_topology accelerators_per_node accelerator_model_name accelerator_memory_capacity
    accelerator_host_interconnect accelerator_memory_configuration accelerator_interconnect cooling framework operating_system
    other_software_stack""".split()
SYSTEM = NOT_EMPTY + """host_processor_frequency host_processor_caches host_processor_interconnect accelerator_frequency
    accelerator_interconnect_topology accelerator_on-chip_memories hw_notes sw_notes system_type_detail""".split()
MEASUREMENTS = "input_data_types retraining starting_weights_filename weight_data_types weight_transformations".split()
MAX_FILE, MAX_ACCURACY_LOG, MIN_DURATION_MS = 50 * 1024 * 1024, 10 * 1024, 600_000


def read_detail(path):
    """Reads a detail log as the checker does: the first value of each key, and the lines that are errors."""
    lines = path.read_text().splitlines()
    assert lines and lines[0].startswith(":::MLLOG"), path
    entries = [json.loads(line.removeprefix(":::MLLOG")) for line in lines if line.startswith(":::MLLOG")]
    values = {}
    for entry in entries:
        values.setdefault(entry["key"], entry["value"])
    return values, [entry for entry in entries if entry["metadata"]["is_error"]]


def faults_of(submission, submitter):
    """Returns what the checker would refuse, a sentence each, and how many scenarios there are."""
    faults = []
    root = submission / "open" / submitter
    for path in submission.rglob("*"):
        if path.is_file() and path.stat().st_size > MAX_FILE:
            faults.append(f"{path}: more than 50 MB")
    if not (root / "src").is_dir():
        faults.append("no folder src")
    mapping = json.loads((root / "model_mapping.json").read_text())
    scenarios = sorted(root.glob("results/*/*/*"))
    for scenario in scenarios:
        system, model = scenario.parts[-3:-1]
        faults += [f"{scenario.name}: {fault}" for fault in system_faults(root / f"systems/{system}.json", submitter)]
        faults += [f"{scenario.name}: {fault}" for fault in scenario_faults(scenario, mapping.get(model))]
    return faults, len(scenarios)


def system_faults(path, submitter):
    system = json.loads(path.read_text())
    faults = [f"{path.name} lacks {field}" for field in SYSTEM if field not in system]
    faults += [f"{path.name}: {field} is empty" for field in NOT_EMPTY if not system.get(field)]
    if (system["division"], system["submitter"].lower()) != ("open", submitter.lower()):
        faults.append(f"{path.name} is of another division or submitter")
    if system["status"] not in ("available", "preview", "rdi"):
        faults.append(f"{path.name}: status {system['status']}")
    if system["system_type"] not in ("datacenter", "edge", "datacenter,edge", "edge,datacenter"):
        faults.append(f"{path.name}: system_type {system['system_type']}")
    return faults + [f"{path.name}: {field} is no integer" for field in ("number_of_nodes", "accelerators_per_node") if not str(system[field]).isdigit()]


def scenario_faults(scenario, benchmark):
    faults = []
    measurements = json.loads((scenario / "measurements.json").read_text())
    faults += [f"measurements.json: {field} is empty" for field in MEASUREMENTS if not measurements.get(field)]
    faults += [f"{name} is empty" for name in ("user.conf", "README.md") if not (scenario / name).stat().st_size]
    if benchmark not in SAMPLES:
        return [*faults, f"model_mapping.json names no benchmark: {benchmark}"]
    run = scenario / "performance/run_1"
    detail, errors = read_detail(run / "mlperf_log_detail.txt")
    if not (run / "mlperf_log_summary.txt").stat().st_size:
        faults.append("the summary is empty")
    faults += [f"performance: error {error['value']}" for error in errors]
    for name, seed in SEEDS.items():
        if detail[f"effective_{name}_rng_seed"] != seed:
            faults.append(f"{name}_rng_seed is {detail[f'effective_{name}_rng_seed']}")
    loaded = "Server" if scenario.name == "Interactive" else scenario.name
    if detail["effective_scenario"] != loaded:
        faults.append(f"effective_scenario is {detail['effective_scenario']}")
    if detail["effective_performance_sample_count"] < SAMPLES[benchmark]:
        faults.append(f"performance_sample_count is {detail['effective_performance_sample_count']}")
    if detail["effective_min_duration_ms"] < MIN_DURATION_MS:
        faults.append(f"min_duration_ms is {detail['effective_min_duration_ms']}")
    if loaded != "Offline" and not detail["early_stopping_met"]:
        faults.append(f"early stopping: {detail['early_stopping_result']}")
    if loaded == "Offline" and detail["effective_samples_per_query"] < 24_576:
        faults.append(f"samples_per_query is {detail['effective_samples_per_query']}")
    if detail["result_validity"] != "VALID" or not float(detail[SCORES[loaded]]) > 0:
        faults.append("there is no valid result")
    return faults + accuracy_faults(scenario / "accuracy", loaded)


def accuracy_faults(folder, loaded):
    detail, errors = read_detail(folder / "mlperf_log_detail.txt")
    faults = [f"accuracy: error {error['value']}" for error in errors]
    if (detail["effective_scenario"], detail["effective_test_mode"]) != (loaded, "AccuracyOnly"):
        faults.append(f"accuracy: {detail['effective_scenario']} in {detail['effective_test_mode']}")
    if (folder / "mlperf_log_accuracy.json").stat().st_size > MAX_ACCURACY_LOG:
        faults.append("accuracy: the log is not truncated")
    if not re.search(r"(?m)^hash=\w+$", (folder / "accuracy.txt").read_text()):
        faults.append("accuracy.txt has no hash")
    if not (folder / "mlperf_log_summary.txt").stat().st_size:
        faults.append("accuracy: the summary is empty")
    return faults
