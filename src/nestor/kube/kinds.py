"""The kinds that Nestor reads or writes, with their place in the API (a table instead of discovery calls)."""

from dataclasses import dataclass
from urllib.parse import quote

from nestor.kube import errors


@dataclass(frozen=True)
class Kind:
    """One resource of the Kubernetes API: `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """`apiVersion` as manifests spell it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection, of one object, or of its subresource. Raises `NotFound` for a name that none can have.

        Names may come from tenants: they are quoted here, and must not be quoted before.
        """
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", self._quote(namespace)]
        parts.append(self.plural)
        parts += [self._quote(part) for part in (name, subresource) if part is not None]
        return "/".join(parts)

    def _quote(self, name: str) -> str:
        """One part of a path. No quoting protects `/`, which API servers decode first, nor `..`, which clients resolve."""
        if name in ("", ".", "..") or "/" in name or "%" in name:
            message = f"no object can have the name '{name}'"
            raise errors.NotFound(404, "NotFound", message, {"name": name, "kind": self.plural})
        return quote(name, safe=":")


NAMESPACE = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
NODE = Kind("", "v1", "nodes", "Node", namespaced=False)
POD = Kind("", "v1", "pods", "Pod")
POD_METRICS = Kind("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
SERVICE = Kind("", "v1", "services", "Service")
CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap")
SECRET = Kind("", "v1", "secrets", "Secret")
SERVICE_ACCOUNT = Kind("", "v1", "serviceaccounts", "ServiceAccount")
EVENT = Kind("", "v1", "events", "Event")
PERSISTENT_VOLUME_CLAIM = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
PERSISTENT_VOLUME = Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
VOLUME_SNAPSHOT = Kind("snapshot.storage.k8s.io", "v1", "volumesnapshots", "VolumeSnapshot")
VOLUME_SNAPSHOT_CLASS = Kind("snapshot.storage.k8s.io", "v1", "volumesnapshotclasses", "VolumeSnapshotClass", namespaced=False)
VOLUME_SNAPSHOT_CONTENT = Kind(
    "snapshot.storage.k8s.io", "v1", "volumesnapshotcontents", "VolumeSnapshotContent", namespaced=False
)
RESOURCE_QUOTA = Kind("", "v1", "resourcequotas", "ResourceQuota")
LIMIT_RANGE = Kind("", "v1", "limitranges", "LimitRange")
STATEFUL_SET = Kind("apps", "v1", "statefulsets", "StatefulSet")
DEPLOYMENT = Kind("apps", "v1", "deployments", "Deployment")
RESOURCE_CLAIM = Kind("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
DEVICE_CLASS = Kind("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
API_SERVICE = Kind("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False)
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PRIORITY_CLASS = Kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
RUNTIME_CLASS = Kind("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
INGRESS_CLASS = Kind("networking.k8s.io", "v1", "ingressclasses", "IngressClass", namespaced=False)
INGRESS = Kind("networking.k8s.io", "v1", "ingresses", "Ingress")
HTTP_ROUTE = Kind("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
NETWORK_POLICY = Kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
SERVICE_CIDR = Kind("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", namespaced=False)
MUTATING_WEBHOOK = Kind(
    "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False
)
ROLE = Kind("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDING = Kind("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
JOB = Kind("batch", "v1", "jobs", "Job")
CRON_JOB = Kind("batch", "v1", "cronjobs", "CronJob")
CERTIFICATE_REQUEST = Kind(
    "certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", namespaced=False
)
ACCESS_REVIEW = Kind("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False)
SUBJECT_REVIEW = Kind("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
SELF_REVIEW = Kind("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False)
TOKEN_REVIEW = Kind("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
LEASE = Kind("coordination.k8s.io", "v1", "leases", "Lease")
CRD = Kind("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
WORKLOAD = Kind("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
RESOURCE_FLAVOR = Kind("kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False)
WORKLOAD_PRIORITY = Kind("kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False)
NESTED_APP_JOB = Kind("nestor.dev", "v1alpha1", "nestedappjobs", "NestedAppJob")
NESTED_APP = Kind("nestor.dev", "v1alpha1", "nestedapps", "NestedApp", namespaced=False)
NESTED_CLUSTER = Kind("nestor.dev", "v1alpha1", "nestedclusters", "NestedCluster")
NESTED_CLASS = Kind("nestor.dev", "v1alpha1", "nestedclasses", "NestedClass", namespaced=False)
OVERFLOW_BACKEND = Kind("nestor.dev", "v1alpha1", "overflowbackends", "OverflowBackend", namespaced=False)
