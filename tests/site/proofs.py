"""How it is known of each command of the documentation that it works.

`RUNS`: a test runs it as it stands on the page. `LIKE`: a test runs it with other names or in another place. `NOT`: nobody
can run it here, for the reason that is given. The first row whose pattern matches a command says which. Commands stand in blocks,
in the READMEs of the examples in sentences, too. A command of which no row
speaks fails `tests/unit/test_docs_commands.py`, as does a row that speaks of none, or names a test that is not there.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Proof:
    """One row."""

    pages: str
    """A pattern of their paths."""
    pattern: str
    """Of the command, its words quoted as a shell needs them."""
    how: Literal["RUNS", "LIKE", "NOT"]
    what: str
    """The test, or the reason."""

    def speaks_of(self, page: str, words: list[str]) -> bool:
        """Whether the row is about that command."""
        return bool(re.fullmatch(self.pages, page) and re.fullmatch(self.pattern, shlex.join(words)))


OFFLINE = "tests/unit/test_docs_commands.py::test_what_needs_no_cluster_works_as_the_page_says"
USERS = "tests/e2e/test_docs_commands.py::test_the_users_page_works_from_top_to_bottom"
ADMINS = "tests/e2e/test_docs_commands.py::test_what_admins_only_look_at_is_there"
_CLI = "tests/e2e/test_cli.py::test_an_application_by_the_command_line_alone"
_DEMO = "tests/e2e/test_demo.py::test_the_demo_prints_the_page_and_its_url_and_may_be_run_again"
_UPGRADE = "tests/integration/operator/test_upgrade.py::test_running_jobs_are_left_alone"
_HOOK = "tests/e2e/test_chart_guard.py::test_the_hook_of_the_chart_refuses_as_long_as_there_is_a_job"
_OVERFLOW = "tests/e2e/test_overflow_examples.py::test_cpu_overflow"
_PLACES = "tests/e2e/test_overflow_room.py::test_pods_that_do_not_fit_go_out_and_say_where_and_why"
_LIFE = "tests/e2e/devcluster/test_cluster.py"
_TYPES = "tests/e2e/test_appdef_types.py"
_ANY = r".*"

PROOFS = (
    # The pages that are run as they stand.
    Proof(
        "docs/users.md",
        r"nestor run shop .*|kubectl create secret .*",
        "LIKE",
        "tests/integration/cli/test_run.py::test_the_catalog",
    ),
    Proof("docs/users.md", _ANY, "RUNS", USERS),
    Proof("docs/(app-authors|admins).md", r"nestor (validate|convert) .*", "RUNS", OFFLINE),
    Proof("docs/admins.md", r"nestor doctor|kubectl (get|logs|describe|auth) .*", "RUNS", ADMINS),
    # Installing, upgrading, uninstalling: the whole run of the tests begins with the first, on a cluster of its own.
    Proof(
        _ANY, r"docker (build|push) .*", "NOT", "wants Docker and a registry; `make image` builds the same Dockerfile by buildah"
    ),
    Proof(_ANY, r"helm upgrade --install nestor .*", "LIKE", "devcluster/demo/install.py::install_nestor"),
    Proof(
        _ANY,
        r"kubectl apply --server-side --force-conflicts -f charts/nestor/crds/",
        "LIKE",
        "devcluster/demo/install.py::install_nestor",
    ),
    Proof(_ANY, r"helm upgrade nestor .*", "LIKE", _UPGRADE),
    Proof(_ANY, r"helm uninstall nestor .*|kubectl delete naj,ofb -A --all", "LIKE", _HOOK),
    Proof(_ANY, r"kubectl delete crd .*", "NOT", "would take every job of the tests' cluster with it; its names are checked"),
    Proof("docs/admins.md", r"kubectl create (namespace|rolebinding|quota) .*", "RUNS", ADMINS),
    Proof(
        "docs/admins.md",
        r"kubectl apply -f class.yaml",
        "NOT",
        "the class would stay in the tests' cluster; OFFLINE validates the file",
    ),
    Proof(
        _ANY,
        r"kubectl apply -f examples/01-hello-world/app.yaml",
        "LIKE",
        "tests/e2e/test_appdef_sources.py::test_an_application_of_the_catalog",
    ),
    # The machine that Nestor is developed on, and its cluster.
    Proof("devcluster/README.md", r"python -m devcluster (up|status)", "LIKE", f"{_LIFE}::test_a_second_up_keeps_the_cluster"),
    Proof("devcluster/README.md", r"python -m devcluster down", "LIKE", f"{_LIFE}::test_down_leaves_nothing_and_may_be_repeated"),
    Proof(
        "devcluster/README.md",
        r"python -m devcluster kubeconfig",
        "RUNS",
        "tests/unit/devcluster/cluster/test_state.py::test_the_command_line_says_where_the_kubeconfig_is",
    ),
    Proof("devcluster/README.md", r"python -m devcluster load", "LIKE", "devcluster/cluster/embedded.py::up"),
    Proof(
        "devcluster/README.md",
        r"python -m devcluster node stop .*|kubectl get nodes",
        "LIKE",
        "tests/e2e/devcluster/test_node_stop.py::test_a_stopped_node_is_noticed_its_pod_is_replaced_and_it_comes_back",
    ),
    Proof(
        "devcluster/README.md",
        r"python -m devcluster hold -- .*",
        "LIKE",
        "tests/unit/devcluster/cluster/test_lock.py::test_what_a_held_program_returns_is_returned",
    ),
    Proof(
        "devcluster/README.md",
        r"python -m devcluster plugin up",
        "LIKE",
        "tests/e2e/devcluster/test_plugin.py::test_it_ends_alone_and_comes_back",
    ),
    Proof(
        "devcluster/README.md",
        r"python -m devcluster plugin set .*",
        "LIKE",
        "tests/unit/devcluster/cluster/test_plugin.py::test_switches_on_the_command_line",
    ),
    Proof("devcluster/README.md", r"(basename|dirname|cut) .*", "NOT", "names images for Docker, which the machine has not"),
    Proof(
        "devcluster/README.md", r"make e2e CLUSTER=current .*", "NOT", "wants another cluster, and a registry that it pulls from"
    ),
    Proof("(README|examples/README|examples/01-.*).md", r"make demo", "LIKE", _DEMO),
    Proof(
        "devcluster/README.md", r"python -m devcluster load .*", "NOT", "the fixture of the end-to-end tests calls what it calls"
    ),
    Proof(
        "(README|examples/.*).md",
        r"make demo-examples",
        "NOT",
        "loads into a running demo what the tests' cluster has from its start",
    ),
    Proof("README.md", r"make e2e CLUSTER=kind", "NOT", "wants Docker, and images from registries"),
    Proof(
        "docs/evidence/conformance.md",
        r"make conformance.*",
        "LIKE",
        "tests/unit/devcluster/conformance/test_suite.py::test_the_command_names_cluster_processes_and_limit",
    ),
    Proof("docs/overflow.md", r"make bench-overflow", "LIKE", "tests/unit/benchmarks/test_overflow.py::test_pods_run_and_end"),
    Proof("docs/providers.md", r"python -m pytest .*", "NOT", "runs a file that its reader writes"),
    Proof(_ANY, r"pip install .*", "NOT", "would change the environment of the tests; the image's build installs the package"),
    # The command line.
    Proof(
        "docs/cli.md",
        r"nestor validate jobs/ --class .*",
        "LIKE",
        "tests/unit/cli/test_commands.py::test_validate_takes_the_default_class_by_name_or_from_a_file",
    ),
    Proof("docs/cli.md", r"kubectl get nclass .*", "LIKE", ADMINS),
    Proof(
        "docs/batch.md",
        r"nestor run .* --rm .*",
        "LIKE",
        "tests/integration/cli/test_run.py::test_run_of_a_job_that_ends_waits_for_its_end_and_removes_it",
    ),
    Proof(
        "docs/observability.md",
        r"kubectl exec .*",
        "LIKE",
        "tests/e2e/test_services_traffic.py::test_the_first_services_of_a_job_have_addresses_that_are_free_on_both_sides",
    ),
    Proof("docs/cli.md", r"nestor --help", "RUNS", OFFLINE),
    Proof("docs/cli.md", r"nestor --install-completion", "NOT", "would change the shell of whoever runs the tests"),
    Proof("docs/cli.md", r"nestor (run|list|status|logs|exec|delete|suspend|resume) .*", "LIKE", _CLI),
    Proof(
        "docs/cli.md",
        r"nestor open .*",
        "LIKE",
        "tests/integration/cli/test_run.py::test_the_page_is_opened_or_its_absence_explained",
    ),
    Proof(
        "docs/cli.md", r"nestor rerun .*", "LIKE", "tests/integration/cli/test_run.py::test_a_job_rests_goes_on_and_runs_again"
    ),
    Proof(
        "docs/cli.md",
        r"nestor kubeconfig .*",
        "LIKE",
        "tests/integration/cli/test_access.py::test_the_kubeconfig_is_printed_written_and_merged",
    ),
    Proof("docs/cli.md", r"nestor apps.*", "LIKE", "tests/integration/cli/test_run.py::test_the_catalog"),
    Proof(
        "docs/cli.md",
        r"nestor (convert|validate) .*",
        "LIKE",
        "tests/e2e/test_cli.py::test_what_fails_is_told_by_words_and_exit_codes",
    ),
    Proof(
        "docs/cli.md",
        r"helm template examples/18-.*",
        "LIKE",
        "tests/integration/operator/test_argocd.py::test_the_job_of_the_example_is_what_its_chart_comes_to",
    ),
    Proof("docs/cli.md", r"nestor doctor .*", "LIKE", "tests/integration/cli/test_doctor.py::test_a_job_is_explained"),
    Proof(
        "docs/ui.md",
        r"nestor ui",
        "LIKE",
        "tests/integration/cli/test_ui.py::test_only_who_has_the_link_comes_in_and_it_works_once",
    ),
    Proof(_ANY, r"curl .*", "NOT", "what a reader does with the URL"),
    Proof(
        "(README|charts/nestor/README|docs/cli|docs/app-authors).md",
        r"kubectl apply -f (-|examples/01-hello-world/job-from-configmap.yaml)",
        "LIKE",
        "tests/e2e/test_appdef_sources.py::test_an_appdef_in_the_job",
    ),
    Proof("README.md", r"nestor (exec|delete|-n team-a run) .*", "LIKE", _CLI),
    Proof(
        "(README|charts/nestor/README).md", r"kubectl get naj -A -w", "NOT", "it never ends; without -w, docs/admins.md has it"
    ),
    Proof(
        "(docs/app-authors|examples/04-.*).md",
        r"base64 .*",
        "LIKE",
        "tests/unit/test_examples.py::test_a_script_in_base64_is_the_file_beside_it",
    ),
    Proof("docs/app-authors.md", r"kubectl create configmap .*|nestor (run|logs|apps) .*", "LIKE", _CLI),
    # The examples, whose commands are given in their folders.
    Proof(
        "examples/README.md",
        r"kubectl ((apply|delete) -f|get naj -w)",
        "LIKE",
        "tests/e2e/test_appdef_sources.py::test_an_appdef_in_the_job",
    ),
    Proof(
        "examples/02-.*",
        r"kubectl apply -f job.yaml",
        "LIKE",
        "tests/e2e/test_inside.py::test_the_web_server_shows_a_value_that_it_read_from_the_database",
    ),
    Proof("examples/03-.*", r"kubectl apply -f job.yaml", "LIKE", f"{_TYPES}::test_a_kustomize_overlay"),
    Proof(
        "examples/04-.*",
        r"kubectl apply -f job.yaml|helm upgrade --install --wait",
        "LIKE",
        f"{_TYPES}::test_a_script_that_installs_a_chart_and_waits_for_it",
    ),
    Proof(
        "examples/07-.*", r"kubectl apply -f job.yaml", "LIKE", f"{_TYPES}::test_four_types_with_parameters_and_a_change_of_one"
    ),
    Proof(
        "examples/08-.*",
        r"kubectl apply -f app.yaml|nestor exec sums .*",
        "LIKE",
        "tests/e2e/test_overflow_array.py::test_a_large_list_is_worked_on_at_a_backend_and_a_small_one_here",
    ),
    Proof("examples/09-.*", r"kubectl (create secret|patch nclass) .*", "LIKE", _OVERFLOW),
    Proof("examples/10-.*", r"kubectl patch nclass .*", "LIKE", "tests/e2e/test_overflow_examples.py::test_a_gpu_on_a_backend"),
    Proof(
        "examples/11-.*",
        r"kubectl patch nclass .*",
        "LIKE",
        "tests/e2e/test_overflow_gpu_host.py::test_the_example_of_a_gpu_on_a_tainted_node",
    ),
    Proof(
        "examples/12-.*", r"kubectl patch nclass .*", "LIKE", "tests/e2e/test_overflow_examples.py::test_a_gang_goes_to_one_place"
    ),
    Proof(
        "examples/13-.*",
        r"kubectl (create secret|patch nclass) .*",
        "LIKE",
        "tests/e2e/test_overflow_examples.py::test_a_second_cluster",
    ),
    Proof(
        "examples/14-.*",
        r"kubectl patch nclass .*|nestor exec database .*",
        "LIKE",
        "tests/e2e/test_storage_volumes.py::test_the_example_s_database_goes_on_counting_whatever_is_lost",
    ),
    Proof(
        "examples/15-.*", r"kubectl apply -f job.yaml", "LIKE", "tests/e2e/test_webhooks_example.py::test_an_app_brings_a_webhook"
    ),
    Proof(
        "examples/16-.*",
        r"kubectl apply -f job.yaml|nestor exec autoscaled-web .*",
        "LIKE",
        "tests/e2e/test_metrics_top.py::test_an_autoscaled_web_server_grows_under_load",
    ),
    Proof(
        "examples/17-.*", r"nestor exec closed .*", "LIKE", "tests/e2e/test_policy_nested.py::test_the_example_of_a_closed_app"
    ),
    Proof(
        "examples/18-.*",
        r"kubectl (create namespace previews|apply -f argocd/)",
        "LIKE",
        "tests/e2e/test_argocd_previews.py::test_each_open_pull_request_has_a_preview_that_follows_it",
    ),
    Proof(
        "examples/19-.*",
        r"nestor exec training .*|nestor status",
        "LIKE",
        "tests/e2e/test_batch_jobs.py::test_ranks_train_together_and_a_workflow_waits_for_them",
    ),
    # Backends, queues, Argo CD.
    Proof(_ANY, r"'\$EDITOR' .*", "NOT", "what a reader writes there is theirs"),
    Proof(
        "(README|docs/overflow).md",
        r"kubectl (create secret generic hpc-token|apply -f examples/09|patch nclass default|get ofb|get nodes).*",
        "LIKE",
        _OVERFLOW,
    ),
    Proof("docs/overflow.md", r"kubectl (get pods|get events|describe pod) .*", "LIKE", _PLACES),
    Proof(
        "docs/overflow.md",
        r"kubectl -n kube-system patch daemonset .*",
        "NOT",
        "the embedded cluster has no kube-proxy that is a DaemonSet",
    ),
    Proof("docs/queues.md", r"kubectl get naj.*", "LIKE", ADMINS),
    Proof("docs/hardening.md", r"kubectl get nclass", "LIKE", ADMINS),
    Proof(
        "docs/gitops.md",
        r"kubectl patch configmap argocd-cm .*",
        "LIKE",
        "tests/e2e/test_argocd_lua.py::test_argo_cd_judges_as_the_unit_tests_expect",
    ),
    Proof(
        "docs/troubleshooting.md", r"nestor doctor JOB|kubectl describe naj JOB|nestor exec JOB -- kubectl get .*", "LIKE", USERS
    ),
)
