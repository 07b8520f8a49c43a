"""Pods, apart from their containers and volumes."""

from nestor.pods.translate.fields.rule import POD_SECURITY, Rule, Table, table
from nestor.pods.translate.fields.volumes import DEVICE_CLASSES

_ADMITTED = Rule("Own", "the nested API server sets it, from a class whose own field is translated")
_ACCOUNT = Rule("Own", "tokens are those of the nested cluster")

POD_SPEC = table(
    "hostAliases hostUsers os readinessGates restartPolicy securityContext shareProcessNamespace terminationGracePeriodSeconds",
    "affinity containers dnsConfig dnsPolicy enableServiceLinks hostname hostnameOverride imagePullSecrets initContainers "
    "nodeName setHostnameAsFQDN subdomain topologySpreadConstraints volumes",
    activeDeadlineSeconds=Rule("Pass", changes="Patch"),
    resources=Rule("Pass", changes="Resize"),
    ephemeralContainers=Rule("Translate", changes="Add"),
    hostIPC=POD_SECURITY,
    hostNetwork=POD_SECURITY,
    hostPID=POD_SECURITY,
    nodeSelector=Rule("Class", "placement.allowedNodeLabels"),
    priorityClassName=Rule("Class", "placement.priorityClasses"),
    runtimeClassName=Rule("Class", "placement.runtimeClasses"),
    schedulerName=Rule("Class", "placement.schedulers"),
    schedulingGroup=Rule("Class", "placement.gang"),
    tolerations=Rule("Class", "placement.allowedTolerations", changes="Patch"),
    resourceClaims=DEVICE_CLASSES,
    evictionResponders=Rule("Ignore", "evictions from the host cluster's nodes do not wait for them"),
    workloadRef=Rule(
        "Ignore", "the host cluster's scheduler does not know the workload; gangs are formed as `placement.gang` says"
    ),
    overhead=_ADMITTED,
    preemptionPolicy=_ADMITTED,
    priority=_ADMITTED,
    automountServiceAccountToken=_ACCOUNT,
    serviceAccount=_ACCOUNT,
    serviceAccountName=_ACCOUNT,
    schedulingGates=Rule("Own", "there is no host pod before the last one is gone"),
)

TABLES: dict[str, Table] = {
    "PodSpec": POD_SPEC,
    "HostAlias": table("hostnames ip"),
    "LocalObjectReference": table("", "name"),
    "PodDNSConfig": table("", "nameservers options searches"),
    "PodDNSConfigOption": table("name value"),
    "PodOS": table("name"),
    "PodReadinessGate": table("conditionType"),
    "PodSchedulingGroup": table("", "podGroupName"),
    "PodSecurityContext": table(
        "fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser seLinuxChangePolicy supplementalGroups "
        "supplementalGroupsPolicy",
        appArmorProfile=POD_SECURITY,
        seLinuxOptions=POD_SECURITY,
        seccompProfile=POD_SECURITY,
        sysctls=POD_SECURITY,
        windowsOptions=POD_SECURITY,
    ),
    "AppArmorProfile": table("localhostProfile", type=POD_SECURITY),
    "SELinuxOptions": table("level", role=POD_SECURITY, type=POD_SECURITY, user=POD_SECURITY),
    "SeccompProfile": table("localhostProfile", type=POD_SECURITY),
    "Sysctl": table("value", name=POD_SECURITY),
    "WindowsSecurityContextOptions": table("gmsaCredentialSpec gmsaCredentialSpecName runAsUserName", hostProcess=POD_SECURITY),
    # Scheduling
    "Affinity": table("", "nodeAffinity podAffinity podAntiAffinity"),
    "LabelSelector": table("", "matchExpressions matchLabels"),
    "LabelSelectorRequirement": table("operator values", "key"),
    "NodeAffinity": table("", "preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution"),
    "NodeSelector": table("", "nodeSelectorTerms"),
    "NodeSelectorRequirement": table("operator values", key=Rule("Class", "placement.allowedNodeLabels")),
    "NodeSelectorTerm": table("matchFields", "matchExpressions"),
    "PodAffinity": table("", "preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution"),
    "PodAffinityTerm": table("topologyKey", "labelSelector matchLabelKeys mismatchLabelKeys namespaceSelector namespaces"),
    "PodAntiAffinity": table(
        "", "preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution"
    ),
    "PreferredSchedulingTerm": table("weight", "preference"),
    "Toleration": table("effect key operator tolerationSeconds value"),
    "TopologySpreadConstraint": table(
        "maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey whenUnsatisfiable", "labelSelector matchLabelKeys"
    ),
    "WeightedPodAffinityTerm": table("weight", "podAffinityTerm"),
}
"""By type. A type whose content has no effect, or is refused, has none."""
