# SPDX-License-Identifier: Apache-2.0
"""Executes a pipeline's job as GitHub Actions or GitLab would, as far as the templates use them."""

import dataclasses
import subprocess


@dataclasses.dataclass
class Result:
    """What a job did: `status` is that of the job, after what it lets pass, and `script_status` before."""

    status: int
    printed: str
    skipped: bool = False
    script_status: int = 0


def holds(condition, values):
    """Evaluates comparisons of names and texts that are joined by `&&`. A name without a value is empty."""

    def value(word):
        return word[1:-1] if word[0] in "'\"" else values.get(word.lstrip("$"), "")

    return all(value(left) == value(right) for left, right in (part.split(" == ") for part in condition.split(" && ")))


def bash(script, folder, environment):
    """Runs a script as both servers do: in bash, up to the first command that fails."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
    )


def files_without_ignored(folder):
    """Leaves a checkout as both servers do before a job: without what git does not know."""
    subprocess.run(["git", "clean", "-ffdxq"], cwd=folder, check=True)


class GitHub:
    """A self-hosted runner of GitHub. `summary` is what the job's page would show."""

    def __init__(self, folder):
        self.temporary = folder / "runner"
        self.summary = folder / "summary.md"

    def run(self, workflow, project, environment, settings, event, name=None):
        """Runs a job of a workflow in a checkout, the first unless it is named. `settings` are the lines of its `env` that a user edited."""
        job = workflow["jobs"][name or next(iter(workflow["jobs"]))]
        if "if" in job and not holds(job["if"].removeprefix("always() && "), event):
            return Result(0, "", skipped=True)
        if workflow["defaults"] != {"run": {"shell": "bash"}}:
            raise ValueError("only bash stops at a failure inside a pipe")
        if "needs" not in job:  # such a job gets the artifacts, which lie here already
            files_without_ignored(project)
        subprocess.run(["rm", "-rf", self.temporary, self.summary], check=True)
        self.temporary.mkdir()
        kept, paths = self.temporary / "env", self.temporary / "path"
        step_environment = {
            "GITHUB_SERVER_URL": "https://example.org", "GITHUB_REPOSITORY": "team/repo", "GITHUB_RUN_ID": "12",
            **environment, **{name: str(value) for name, value in job["env"].items()}, **settings,
            "RUNNER_TEMP": str(self.temporary), "GITHUB_ENV": str(kept), "GITHUB_PATH": str(paths), "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        result = Result(0, "")
        for step in job["steps"]:
            if result.status and step.get("if") != "always()":
                continue
            if step.get("uses", "").startswith("actions/upload-artifact@") and not list((project / step["with"]["path"]).glob("*")):
                result.printed += "::warning::no files were found with the provided path\n"
            if "run" in step:
                done = bash(step["run"], project, step_environment)
                result.printed += done.stdout
                result.status = result.script_status = result.status or done.returncode
            for line in kept.read_text().splitlines() if kept.exists() else []:
                name, _, value = line.partition("=")
                step_environment[name] = value
            for line in paths.read_text().splitlines() if paths.exists() else []:
                step_environment["PATH"] = f"{line}:{step_environment['PATH']}"
            for file in (kept, paths):
                file.unlink(missing_ok=True)
        return result


class GitLab:
    """A runner of GitLab, with the shell executor. `reports` are the files that it would show, by kind."""

    def __init__(self):
        self.reports = {}

    def run(self, pipeline, project, environment, settings, event, name=None):
        """Runs a job of a pipeline in a checkout, the first unless it is named. `settings` are the lines of its `variables` that a user edited."""
        job = pipeline[name or next(iter(pipeline))]
        if not any(holds(rule["if"], event) for rule in job["rules"]):
            return Result(0, "", skipped=True)
        if "needs" not in job:  # such a job gets the artifacts, which lie here already
            files_without_ignored(project)
        variables = {"CI_PROJECT_URL": "https://example.org/team/repo", **environment, **event, "CI_PROJECT_DIR": str(project), **{name: str(value) for name, value in job["variables"].items()}, **settings}
        done = bash("\n".join(job["before_script"] + job["script"]), project, variables)
        reports = job.get("artifacts", {}).get("reports", {})
        self.reports = {kind: project / path for kind, path in reports.items() if (project / path).exists()}
        passes = done.returncode in job.get("allow_failure", {}).get("exit_codes", [])
        return Result(0 if passes else done.returncode, done.stdout, script_status=done.returncode)
