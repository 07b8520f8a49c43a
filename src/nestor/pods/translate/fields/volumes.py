"""Volumes of pods, claims, and devices by dynamic resource allocation."""

from nestor.pods.translate.fields.rule import POD_SECURITY, Rule, Table, find, table

_STORAGE = Rule("Class", "storage.classes")

VOLUME = table(
    "emptyDir image name",
    "configMap downwardAPI projected secret",
    "awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker gcePersistentDisk gitRepo glusterfs iscsi "
    "nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume",
    ephemeral=_STORAGE,
    persistentVolumeClaim=_STORAGE,
    hostPath=POD_SECURITY,
)
BY_STORAGE = find(VOLUME, "Class", _STORAGE.note)
"""Kinds of volumes that are claims."""
PROJECTION = table("", "configMap downwardAPI secret serviceAccountToken", "clusterTrustBundle podCertificate")

CLAIM_SPEC = table(
    "accessModes",
    "dataSource volumeName",
    storageClassName=_STORAGE,
    volumeMode=Rule("Class", "storage.blockVolumes"),
    resources=Rule("Translate", changes="Patch"),
    dataSourceRef=Rule("Own", "goes with `dataSource`"),
    selector=Rule("Refuse", "it would select among the volumes of the host cluster"),
    volumeAttributesClassName=Rule("Refuse", "VolumeAttributesClasses are not synced to the host cluster"),
)

SNAPSHOT_SPEC = table("", "source", volumeSnapshotClassName=Rule("Class", "storage.snapshotClasses"))
"""VolumeSnapshots are no part of Kubernetes' own API: their definition says which fields there are."""
SNAPSHOT_SOURCE = table(
    "",
    "persistentVolumeClaimName",
    volumeSnapshotContentName=Rule("Refuse", "it would be a content of the host cluster, whose snapshots are not this cluster's"),
)

DEVICE_CLASSES = Rule("Class", "devices.classes")
_TOLERATIONS = Rule("Refuse", "taints of the host cluster's devices are not the nested cluster's to tolerate")
_PLAIN = "allocationMode capacity count derivedAttributes selectors"

CLAIM = table("", "devices")
DEVICES = table("constraints", "requests", config=Rule("Class", "devices.parameters"))
REQUEST = table("name", "exactly firstAvailable")
EXACT = table(
    _PLAIN,
    deviceClassName=DEVICE_CLASSES,
    adminAccess=Rule("Refuse", "devices of the host cluster are not the nested cluster's to administer"),
    tolerations=_TOLERATIONS,
)
ALTERNATIVE = table(f"{_PLAIN} name", deviceClassName=DEVICE_CLASSES, tolerations=_TOLERATIONS)

TABLES: dict[str, Table] = {
    "ResourceClaimSpec": CLAIM,
    "DeviceClaim": DEVICES,
    "DeviceRequest": REQUEST,
    "ExactDeviceRequest": EXACT,
    "DeviceSubRequest": ALTERNATIVE,
    "CELDeviceSelector": table("expression"),
    "CapacityRequirements": table("requests"),
    "DeviceClaimConfiguration": table("opaque requests"),
    "DeviceConstraint": table("distinctAttribute matchAttribute requests"),
    "DeviceDerivedAttribute": table("expression name"),
    "DeviceSelector": table("cel"),
    "OpaqueDeviceConfiguration": table("driver parameters"),
    # What pods say of claims
    "PodResourceClaim": table("name", "resourceClaimName resourceClaimTemplateName"),
    "ResourceClaim": table("name request"),
    # Volumes
    "Volume": VOLUME,
    "VolumeProjection": PROJECTION,
    "PersistentVolumeClaimSpec": CLAIM_SPEC,
    "TypedLocalObjectReference": table("apiGroup kind", "name"),
    "VolumeResourceRequirements": table("", "limits requests"),
    "ConfigMapProjection": table("items optional", "name"),
    "ConfigMapVolumeSource": table("defaultMode defaultUser items optional", "name"),
    "DownwardAPIProjection": table("", "items"),
    "DownwardAPIVolumeFile": table("mode path resourceFieldRef user", "fieldRef"),
    "DownwardAPIVolumeSource": table("defaultMode defaultUser", "items"),
    "EmptyDirVolumeSource": table("medium mode sizeLimit"),
    "EphemeralVolumeSource": table(volumeClaimTemplate=Rule("Own", "the nested cluster makes the claim")),
    "PersistentVolumeClaimVolumeSource": table("readOnly", "claimName"),
    "HostPathVolumeSource": table("path type"),
    "VolumeDevice": table("devicePath name"),
    "ImageVolumeSource": table(reference=Rule("Class", "images.allowed"), pullPolicy=Rule("Class", "images.alwaysPull")),
    "KeyToPath": table("key mode path user"),
    "ProjectedVolumeSource": table("defaultMode defaultUser", "sources"),
    "SecretProjection": table("items optional", "name"),
    "SecretVolumeSource": table("defaultMode defaultUser items optional", "secretName"),
    "ServiceAccountTokenProjection": table("path user", "audience expirationSeconds"),
}
"""By type. A kind of volume that is refused has none."""
