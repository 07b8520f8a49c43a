"""Containers of pods, of all three kinds."""

from nestor.pods.translate.fields.rule import PASS, POD_SECURITY, Rule, Table, table
from nestor.pods.translate.fields.volumes import DEVICE_CLASSES

CONTAINER = table(
    "args command imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy restartPolicy "
    "restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath terminationMessagePolicy tty "
    "volumeMounts workingDir",
    "env envFrom",
    image=Rule("Class", "images.allowed", changes="Patch"),
    resources=Rule("Pass", changes="Resize"),
    volumeDevices=Rule("Class", "storage.blockVolumes"),
)
EPHEMERAL_CONTAINER: Table = {**CONTAINER, "targetContainerName": PASS}
RESOURCES = table("limits requests", claims=DEVICE_CLASSES)

TABLES: dict[str, Table] = {
    "Container": CONTAINER,
    "EphemeralContainer": EPHEMERAL_CONTAINER,
    "ContainerPort": table("containerPort name protocol", hostIP=POD_SECURITY, hostPort=POD_SECURITY),
    "ContainerResizePolicy": table("resourceName restartPolicy"),
    "ContainerRestartRule": table("action exitCodes"),
    "ContainerRestartRuleOnExitCodes": table("operator values"),
    "ResourceRequirements": RESOURCES,
    "VolumeMount": table("bindMountOptions mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr"),
    # Environment
    "ConfigMapEnvSource": table("optional", "name"),
    "ConfigMapKeySelector": table("key optional", "name"),
    "EnvFromSource": table("prefix", "configMapRef secretRef"),
    "EnvVar": table("name value", "valueFrom"),
    "EnvVarSource": table("fileKeyRef resourceFieldRef", "configMapKeyRef fieldRef secretKeyRef"),
    "FileKeySelector": table("key optional path volumeName"),
    "ObjectFieldSelector": table("", "apiVersion fieldPath"),
    "ResourceFieldSelector": table("containerName divisor resource"),
    "SecretEnvSource": table("optional", "name"),
    "SecretKeySelector": table("key optional", "name"),
    # Probes and hooks
    "ExecAction": table("command"),
    "GRPCAction": table("mode port service"),
    "HTTPGetAction": table("httpHeaders path port protocol scheme", host=POD_SECURITY),
    "HTTPHeader": table("name value"),
    "Lifecycle": table("postStart preStop stopSignal"),
    "LifecycleHandler": table("exec httpGet sleep tcpSocket"),
    "Probe": table(
        "exec failureThreshold grpc httpGet initialDelaySeconds periodSeconds successThreshold tcpSocket "
        "terminationGracePeriodSeconds timeoutSeconds"
    ),
    "SleepAction": table("seconds"),
    "TCPSocketAction": table("port", host=POD_SECURITY),
    # Security
    "Capabilities": table("drop", add=POD_SECURITY),
    "SecurityContext": table(
        "allowPrivilegeEscalation readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser",
        appArmorProfile=POD_SECURITY,
        capabilities=POD_SECURITY,
        privileged=POD_SECURITY,
        procMount=POD_SECURITY,
        seLinuxOptions=POD_SECURITY,
        seccompProfile=POD_SECURITY,
        windowsOptions=POD_SECURITY,
    ),
}
