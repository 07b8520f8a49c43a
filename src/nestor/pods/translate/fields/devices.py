"""ResourceClaims: devices by dynamic resource allocation."""

from __future__ import annotations

from nestor.pods.translate.fields.rule import Rule, Table, table

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
}
"""By type."""
