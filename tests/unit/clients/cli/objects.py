"""Good and bad objects: `nestor validate` must judge each as an API server does (tests/integration/cli asks both), but for those
that only an API server refuses.
"""

from typing import Any

from hypothesis import strategies as st

Object = dict[str, Any]
GOOD = ""
NESTED = {"templates": [{"name": "web", "type": "kubectl", "path": "web.yml"}]}
APPDEF: Object = {"name": "Shop", "appdefversion": 2, "appkind": "kns", "commands": {"Start": {"nested_kubernetes": NESTED}}}
APP: Object = {"image": "registry.test/shop:1", "appDef": APPDEF}
DONE: Object = {"targets": [{"kind": "Job", "name": "train"}]}
VERSION = "v1.36"
LONG = "a" * 53
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def resource(kind: str, spec: Any, name: str = "shop", **meta: Any) -> Object:
    return {"apiVersion": "nestor.dev/v1alpha1", "kind": kind, "metadata": {"name": name} | meta, "spec": spec}


def job(spec: Any = None, name: str = "shop", **more: Any) -> Object:
    return resource("NestedAppJob", ({"app": APP} | more) if spec is None else spec, name)


def with_app(**app: Any) -> Object:
    return job({"app": app})


def success(**target: Any) -> Object:
    return job(successPolicy={"targets": [target]})


def nested_class(name: str = "default", cluster: Any = None, **spec: Any) -> Object:
    return resource("NestedClass", {"cluster": {"versions": [VERSION]} if cluster is None else cluster} | spec, name)


REF = {"name": "link", "key": "token"}
OIDC: Object = {
    "tokenURL": "https://id.test/token",
    "clientID": "nestor",
    "clientSecretRef": REF,
    "scopes": ["a"],
    "audience": "b",
}


def backend(url: str = "https://link.test", name: str = "link", *, spec: Any = None, **interlink: Any) -> Object:
    return resource("OverflowBackend", {"type": "Interlink", "interlink": {"url": url} | interlink} | (spec or {}), name)


def remote(**kubernetes: Any) -> Object:
    return resource("OverflowBackend", {"type": "Kubernetes", "kubernetes": kubernetes}, "other")


TABLE: list[tuple[str, Object, str]] = [
    # What it is, the object, and a part of the message that names the field ("" for good ones).
    ("a job of an image", job(), GOOD),
    ("a job of the catalog", job({"appRef": {"name": "shop"}}), GOOD),
    ("everything at once", job(command="Start", className="big", kubernetesVersion="v1.36",
     expose={"host": "shop.example.com", "allTargets": True}, suspend=True, activeDeadlineSeconds=60,
     ttlSecondsAfterFinished=0, successPolicy=DONE, failurePolicy={"action": "Restart", "maxRestarts": 0}), GOOD),
    ("parameters of an application of the catalog", job({"appRef": {"name": "shop"}, "parameters": {"a": [1, "b"]}}), GOOD),
    ("an image alone", with_app(image="registry.test/shop:1"), GOOD),
    ("templates from a ConfigMap", with_app(templatesFrom={"configMapRef": {"name": "files"}}, appDef=APPDEF), GOOD),
    ("an AppDef with unknown keys", with_app(image="x", appDef=APPDEF | {"future": {"a": None}}), GOOD),
    ("null for a field that may be left out", job(command=None, expose={"host": None}), GOOD),
    ("null for a field with a default", job(className=None, suspend=None), GOOD),
    ("labels and annotations", resource("NestedAppJob", {"app": APP}, labels={"team.example/a": "b", "c": ""},
     annotations={"nestor.dev/rerun": "1"}), GOOD),
    ("a name from a prefix", job() | {"metadata": {"generateName": "a-"}}, GOOD),
    ("a status that is ignored", job() | {"status": {"url": 5}}, GOOD),
    ("a name with 52 letters", job(name="a" * 52), GOOD),
    ("a name that is too long", job(name=LONG), "`metadata.name` must be at most 52"),
    ("a name that is a number", job() | {"metadata": {"name": 12}}, "`metadata.name`"),
    ("no name", resource("NestedAppJob", {"app": APP}, ""), "`metadata.name`"),
    ("no spec", {key: value for key, value in job().items() if key != "spec"}, "`spec`"),
    ("a spec that is a list", job([]), "`spec`"),
    ("a job without an application", job({}), GOOD),
    ("its parameters", job({"parameters": {"SIZE": 3}}), "may be set only together with `app` or `appRef`"),
    ("its URL", job({"expose": {"host": "shop.example.com"}}), "may be set only together with `app` or `appRef`"),
    ("app and appRef", job({"app": APP, "appRef": {"name": "shop"}}), "`app` and `appRef` are mutually exclusive"),
    ("an empty app", with_app(), "`appDef` must be set"),
    ("image and ConfigMap", with_app(image="x", templatesFrom={"configMapRef": {"name": "y"}}, appDef=APPDEF), "`spec.app`"),
    ("a pull secret without an image", with_app(imagePullSecretName="x", appDef=APPDEF), "`imagePullSecretName`"),
    ("an entry's pull secret without an image", resource("NestedApp", {"imagePullSecretName": "x", "appDef": APPDEF}),
     "`imagePullSecretName`"),
    ("an entry's pull secret", resource("NestedApp", {"imagePullSecretName": "x", "image": "y"}), GOOD),
    ("an image with a newline at the end", with_app(image="a\n"), "`spec.app.image`"),
    ("a field that does not exist", job(imagePullPolicy="Always"), "`spec.imagePullPolicy`"),
    ("a field that does not exist, further in", with_app(image="x", tag="1"), "`spec.app.tag`"),
    ("a misspelt field", job(machin="gpu"), "`spec.machin` is unknown here; did you mean `machine`?"),
    ("a duration", job(activeDeadlineSeconds="1h30m"), "must be an integer, not '1h30m': did you mean 5400?"),
    ("a number in quotes", job(failurePolicy={"maxRestarts": "3"}), "must be an integer, not '3': did you mean 3?"),
    ("a duration for a number", job(failurePolicy={"maxRestarts": "3m"}), "`spec.failurePolicy.maxRestarts` must be an integer"),
    ("a field beside spec", job() | {"data": {}}, "`data`"),
    ("a string for a boolean", job(suspend="true"), "`spec.suspend`"),
    ("a version with a patch", job(kubernetesVersion="v1.36.2"), "major.minor"),
    ("a deadline of 0", job(activeDeadlineSeconds=0), "`spec.activeDeadlineSeconds`"),
    ("a host with a scheme", job(expose={"host": "https://a.example"}), "`spec.expose.host`"),
    ("a host with a newline at the end", job(expose={"host": "a.example\n"}), "`spec.expose.host`"),
    ("parameters that are a list", job(parameters=["a"]), "`spec.parameters`"),
    ("an unknown action", job(failurePolicy={"action": "Explode"}), "'Fail', 'Restart' or 'Ignore'"),
    ("more restarts than there may be", job(failurePolicy={"maxRestarts": 1001}), "`spec.failurePolicy.maxRestarts`"),
    ("a target by labels", success(kind="Pod", matchLabels={"a": "b"}), GOOD),
    ("a target of another kind", success(kind="Workflow", apiVersion="argoproj.io/v1alpha1", name="w", condition="Completed"),
     GOOD),
    ("another kind without a condition", success(kind="Workflow", name="w"), "`apiVersion` and `condition`"),
    ("name and labels", success(kind="Job", name="a", matchLabels={"a": "b"}), "`name` and `matchLabels`"),
    ("neither name nor labels", success(kind="Job"), "`name` and `matchLabels`"),
    ("a kind in small letters", success(kind="job", name="a"), "`spec.successPolicy.targets[0].kind`"),
    ("no targets", job(successPolicy={"targets": []}), "`spec.successPolicy.targets`"),
    ("null as a target", job(successPolicy={"targets": [None]}), "`spec.successPolicy.targets[0]`"),
    ("an entry of the catalog", resource("NestedApp", {"title": "Shop", "image": "x", "appDef": APPDEF}), GOOD),
    ("an entry with nothing", resource("NestedApp", {}), "`appDef` must be set"),
    ("an entry with a namespace", resource("NestedApp", {"image": "x"}, namespace="default"), GOOD),
    ("an entry whose ConfigMap has no namespace", resource("NestedApp", {"templatesFrom": {"configMapRef": {"name": "x"}},
     "appDef": APPDEF}), "`spec.templatesFrom.configMapRef.namespace`"),
    ("a class", nested_class(), GOOD),
    ("a rich class", nested_class(cluster={"versions": [VERSION], "persistence": {"size": 2},
     "resources": {"limits": {"cpu": 2, "memory": "2Gi"}}}, expose={"domain": "apps.example.com",
     "allowedHosts": ["*.example.com"], "from": ["ingress-nginx"], "tlsSecretName": "wildcard"},
     network={"privateRanges": ["10.0.0.0/8", "fd00::/8"]}, templateHosts=["example.com"]), GOOD),
    ("a class with peers, taints and quotas", nested_class(expose={"annotations": {"a.example/b": "c"},
     "port": 443, "from": ["*", "10.0.0.0/8"]}, placement={"tolerations": ["pool=batch:NoSchedule"]}, profile="Trusted",
     namespace={"podSecurity": "Privileged", "quota": {"pods": 5, "limits.memory": "8Gi"},
     "defaultResources": {"requests": {"cpu": "10m"}}}), GOOD),
    ("null as a quantity", nested_class(cluster={"versions": [VERSION], "resources": {"limits": {"cpu": None}}}), GOOD),
    ("null as an annotation of a class", nested_class(expose={"annotations": {"a": None}}), GOOD),
    ("a class without versions", nested_class(cluster={"versions": []}), "`spec.cluster.versions`"),
    ("an empty class", resource("NestedClass", {}), GOOD),
    ("a class with an image", nested_class(cluster={"versions": [{"image": "x"}]}), "`spec.cluster.versions[0]`"),
    ("a class for nobody", nested_class(profile="Nobody"), "`spec.profile`"),
    ("a taint that is none", nested_class(placement={"tolerations": ["*=x"]}), "`spec.placement.tolerations[0]`"),
    ("a range that is none", nested_class(network={"privateRanges": ["10.0.0.0"]}), "`spec.network.privateRanges[0]`"),
    ("a peer that is no namespace", nested_class(network={"apiFrom": ["Team A"]}), "`spec.network.apiFrom[0]`"),
    ("a quantity that is none", nested_class(cluster={"versions": [VERSION], "resources": {"limits": {"cpu": "lots"}}}),
     "`spec.cluster.resources.limits.cpu`"),
    ("a pattern in the middle of a host", nested_class(expose={"allowedHosts": ["a.*.example.com"]}),
     "`spec.expose.allowedHosts[0]`"),
    ("a port that is none", nested_class(expose={"port": 65536}), "`spec.expose.port`"),
    ("a cluster", resource("NestedCluster", {}), GOOD),
    ("a cluster with a bad version", resource("NestedCluster", {"kubernetesVersion": "1.36"}), "`spec.kubernetesVersion`"),
    *((f"a backend at {url}", backend(url), GOOD) for url in ("https://link.test", "http://10.0.0.7:3000",
     "https://[fd00::7]:4000/api", "http://plugin", "https://a.b-c.test/x/y/")),
    *((f"a backend at {url or 'no URL'}", backend(url), "`spec.interlink.url`") for url in ("", "link.test",
     "ftp://link.test", "https://user:word@link.test", "https://link.test/?token=a", "http://169.254.169.254/latest",
     "http://[fe80::1]/", "https://link_test")),
    ("a backend with everything", backend(hop="Plugin", oidc=OIDC, tls={"caRef": REF, "clientCertificateSecretName": "a",
     "serverName": "b"}, discovery="Peers", peersPath="/resources", statusPeriodSeconds=1, timeoutSeconds=300,
     spec={"shapes": [{"name": "gpu", "capacity": {"cpu": 4, "nvidia.com/gpu": "1"}, "taints": [{"key": "a"}],
     "machines": 0}], "node": {"name": "nunet-node", "labels": {"type": ""}, "taints": [], "pods": 10}, "price": 0,
     "drainSeconds": 0, "resources": {"limits": {"memory": "1Gi"}}}), GOOD),
    ("a backend with a token", backend(tokenRef=REF), GOOD),
    ("a backend that nobody asks", backend(discovery="None"), "`shapes` must be set if `interlink.discovery` is `None`"),
    ("a backend that nobody needs to ask", backend(discovery="None", spec={"shapes": [{"capacity": {"cpu": 4}}]}), GOOD),
    ("a backend with two kinds of credentials", backend(tokenRef=REF, oidc=OIDC), "`oidc` and `tokenRef`"),
    ("a token over plain HTTP", backend("http://link.test", tokenRef=REF), "`url` must be an https URL"),
    ("an identity provider over plain HTTP", backend(oidc=OIDC | {"tokenURL": "http://id.test"}),
     "`spec.interlink.oidc.tokenURL`"),
    ("a reference without a key", backend(tokenRef={"name": "a"}), "`spec.interlink.tokenRef.key`"),
    ("peers at another URL", backend(peersPath="//other.test?x"), "`spec.interlink.peersPath`"),
    ("a backend without its section", resource("OverflowBackend", {"type": "Interlink"}),
     "exactly the section of the `type`"),
    ("a backend with another section", resource("OverflowBackend", {"type": "Kubernetes",
     "interlink": {"url": "https://link.test"}}), "exactly the section of the `type`"),
    ("a backend of another type", resource("OverflowBackend", {"type": "Slurm"}), "`spec.type`"),
    ("another cluster", remote(kubeconfigRef=REF), GOOD),
    ("another cluster by a service account", remote(server={"url": "https://api.test:6443", "tokenRef": REF, "caRef": REF}),
     GOOD),
    ("another cluster without access", remote(), "exactly one of `kubeconfigRef` and `server`"),
    ("another cluster with two accesses", remote(kubeconfigRef=REF, server={"url": "https://api.test", "tokenRef": REF}),
     "exactly one of `kubeconfigRef` and `server`"),
    ("a backend with a long name", backend(name="a" * 41), "`metadata.name` must be at most 40"),
    ("a shape without a capacity", backend(spec={"shapes": [{"name": "a"}]}), "`spec.shapes[0].capacity`"),
]  # fmt: skip

BAD_TO_SERVERS: list[tuple[str, Object]] = [
    ("a label that is none", resource("NestedAppJob", {"app": APP}, labels={"a": "b c"})),
    ("a namespace that is none", resource("NestedAppJob", {"app": APP}, namespace="a.b")),
    ("two shapes of one name", backend(spec={"shapes": [{"name": "a", "capacity": {}}, {"name": "a", "capacity": {}}]})),
]
"""What docs/cli.md says `nestor validate` leaves to `kubectl apply --dry-run=server`."""
