"""What is built from Go modules: one table, versions taken from each module's go.mod."""

import re
from dataclasses import dataclass, field

ARGO_CD = "github.com/argoproj/argo-cd/v3"
CONTAINERD = "github.com/containerd/containerd/v2"
HELM = "helm.sh/helm/v4"
HELM_3 = "helm.sh/helm/v3"
JOBSET = "sigs.k8s.io/jobset"
LOCAL_PATH = "github.com/rancher/local-path-provisioner"
KUBERNETES = "k8s.io/kubernetes"
KUEUE = "sigs.k8s.io/kueue"
METRICS_SERVER = "sigs.k8s.io/metrics-server"
SCHEDULER_PLUGINS = "sigs.k8s.io/scheduler-plugins"
TAGS = "netgo,osusergo,libsqlite3,no_btrfs,no_devmapper,no_zfs"
"""The same for all programs, with and without C, so that they share the packages that are compiled: Go's own resolver, Debian's
sqlite, containerd without three kinds of snapshots."""
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


@dataclass(frozen=True)
class Component:
    """Programs that are built together and change together."""

    name: str
    module: str
    """Folder below `devcluster/go`."""
    programs: dict[str, str]
    """Program name -> Go package; a name that ends in `.test` is the program of the package's tests."""
    sources: tuple[str, ...] = ("*.go",)
    """What the programs depend on, besides go.mod and go.sum, as patterns below the module."""
    versioned_by: str = ""
    """The dependency whose version the programs report."""
    variables: dict[str, str] = field(default_factory=dict)
    """Go variables to set; `{version}`, `{major}` and `{minor}` are those of `versioned_by`, `{number}` is without the `v`."""
    tags: str = TAGS
    cgo: bool = False
    """Whether it has parts in C, which are linked statically."""
    tests: tuple[str, ...] = field(default=(), repr=False)
    """Packages of the module with Go tests; no part of the key."""
    disk_gigabytes: float = field(default=0.1, repr=False)
    """What a build from nothing adds to Go's module and build caches, measured in the table's order; no part of the key."""
    niceness: int = field(default=0, repr=False)
    """How much it gives way to whatever else runs on the machine; no part of the key."""


def _kubernetes_version(suffix: str = "") -> dict[str, str]:
    values = {"gitVersion": f"{{version}}{suffix}", "gitMajor": "{major}", "gitMinor": "{minor}", "gitTreeState": "clean"}
    return {f"{package}.{name}": value for package in _VERSION_PACKAGES for name, value in values.items()}


COMPONENTS = (
    Component("kube", "kube", {"kube": "./cmd/kube"}, ("cmd/kube/*.go",), KUBERNETES, _kubernetes_version(), disk_gigabytes=3.4),
    Component("kubectl", "kube", {"kubectl": f"{KUBERNETES}/cmd/kubectl"}, (), KUBERNETES, _kubernetes_version()),
    Component(
        "containerd", "kube",
        {name: f"{CONTAINERD}/cmd/{name}" for name in ("containerd", "containerd-shim-runc-v2", "ctr")}, (),
        CONTAINERD, {f"{CONTAINERD}/version.Version": "{version}"}, disk_gigabytes=0.3,
    ),
    # The K3s stand-in's image has no C library.
    Component("kine", "kube", {"kine": "./cmd/kine"}, ("cmd/kine/*.go",), cgo=True),
    Component("pause", "kube", {"pause": "./cmd/pause"}, ("cmd/pause/*.go",)),
    Component("policies", "kube", {"policies": "./cmd/policies"}, ("cmd/policies/*.go",), tests=("./cmd/policies",)),
    Component(
        "ingress-proxy", "kube", {"ingress-proxy": "./cmd/ingress-proxy"}, ("cmd/ingress-proxy/*.go",),
        tests=("./cmd/ingress-proxy",),
    ),
    Component(
        "k3s", "kube", {"k3s": "./cmd/k3s"}, ("cmd/k3s/*.go", "internal/**/*.go", "internal/**/*.yaml"),
        KUBERNETES, {"main.version": "{version}+k3s1"} | _kubernetes_version("+k3s1"),
        tests=("./internal/...",), disk_gigabytes=0.2,
    ),
    Component("coredns", "kube", {"coredns": "./cmd/coredns"}, ("cmd/coredns/*.go",), disk_gigabytes=0.2),
    Component(
        "helm", "kube", {"helm": f"{HELM}/cmd/helm"}, (), HELM, {f"{HELM}/internal/version.version": "{version}"},
        disk_gigabytes=0.4,
    ),
)  # fmt: skip
"""What a cluster with Nestor in it runs."""

VOLUMES = Component("localpath", "localpath", {"local-path-provisioner": LOCAL_PATH}, tags="", disk_gigabytes=0.6)
"""The provisioner of the cluster's StorageClasses. It names a library of the other module by another name."""
HELM3 = Component(
    "helm3", "kube", {"helm3": f"{HELM_3}/cmd/helm"}, (), HELM_3, {f"{HELM_3}/internal/version.version": "{version}"},
    disk_gigabytes=0.2,
)  # fmt: skip
"""For the tests of the chart: helm 3 is still what many have."""
DEVICE_PLUGIN = Component(
    "device-plugin", "kube", {"device-plugin": "./cmd/device-plugin"}, ("cmd/device-plugin/*.go",), tests=("./cmd/device-plugin",)
)
METRICS = Component(
    "metrics-server", "kube", {"metrics-server": f"{METRICS_SERVER}/cmd/metrics-server"}, (), METRICS_SERVER,
    {f"{package}.gitVersion": "{version}" for package in _VERSION_PACKAGES}, disk_gigabytes=0.2,
)  # fmt: skip
CONFORMANCE = Component(
    "conformance",
    "kube",
    {
        "ginkgo": "github.com/onsi/ginkgo/v2/ginkgo",
        "e2e.test": f"{KUBERNETES}/test/e2e",
        "agnhost": f"{KUBERNETES}/test/images/agnhost",
        "nnp": f"{KUBERNETES}/test/images/nonewprivs",
        "sample-apiserver": "k8s.io/sample-apiserver",
        "conformance-sh": "./cmd/conformance-sh",
    },
    ("cmd/conformance-sh/*.go",),
    KUBERNETES,
    _kubernetes_version(),
    tests=("./cmd/conformance-sh",),
    disk_gigabytes=1.5,
)
"""For Kubernetes' conformance tests."""
ARGOCD = Component(
    "argocd", "argocd", {"argocd": f"{ARGO_CD}/cmd"}, (), ARGO_CD,
    {f"{ARGO_CD}/common.version": "{number}", f"{ARGO_CD}/common.gitTreeState": "clean"},
    tags="", disk_gigabytes=4.2, niceness=10,
)  # fmt: skip
"""For the tests of GitOps. Later versions do not build as a module of another one."""
QUEUES = Component(
    "kueue", "kueue", {"kueue": f"{KUEUE}/cmd/kueue"}, (), KUEUE, {f"{KUEUE}/pkg/version.GitVersion": "{version}"},
    tags="", disk_gigabytes=1.7, niceness=10,
)  # fmt: skip
"""For the tests of Kueue's queues."""
SETS = Component(
    "jobset", "batch", {"jobset": JOBSET}, (), JOBSET, {f"{JOBSET}/pkg/version.GitVersion": "{version}"},
    tags="", disk_gigabytes=1.0, niceness=10,
)  # fmt: skip
"""For the tests of JobSets."""
SECOND_SCHEDULER = Component(
    "scheduler-plugins", "batch", {"scheduler-plugins": f"{SCHEDULER_PLUGINS}/cmd/scheduler"}, (), KUBERNETES,
    _kubernetes_version(), tags="", disk_gigabytes=1.0, niceness=10,
)  # fmt: skip
"""For the tests of gangs that another scheduler than the default one holds together."""
TESTED = (*COMPONENTS, DEVICE_PLUGIN, CONFORMANCE)
"""Those with Go tests are among these."""


def required_version(go_mod: str, module: str) -> str:
    """Version of a dependency according to the text of a go.mod."""
    found = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if not found:
        raise ValueError(f"go.mod does not require '{module}'")
    return found[1]


def linker_flags(component: Component, go_mod: str) -> str:
    """The `-ldflags` value: no debug information, the version variables, static linking where there is C."""
    flags = ["-s", "-w"]
    if component.versioned_by:
        version = required_version(go_mod, component.versioned_by)
        number = version.removeprefix("v")
        major, minor, *_ = number.split(".")
        for variable, value in component.variables.items():
            flags += ["-X", f"{variable}={value.format(version=version, number=number, major=major, minor=minor)}"]
    if component.cgo:
        flags += ["-linkmode", "external", "-extldflags", "-static"]
    return " ".join(flags)
