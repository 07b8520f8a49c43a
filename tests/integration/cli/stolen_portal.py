"""What a thief of the portal's token tries in the name of a user who may do all of it: each is a row of docs/evidence/attacks.md.

The names are those of `test_portal.py`, whose world has all that is attacked.
"""

from nestor.kube import Kind, kinds
from tests.integration.operator.stolen import TOKEN_SECRET, Attack

HOME = "{namespace}"
"""The user's own namespace, which is another one in each test."""
TOKEN = Kind("", "v1", "serviceaccounts/powerful/token", "TokenRequest")
REFUSED = "impersonate-on"

ATTACKS = (
    Attack("secret-listed", "to list Secrets", "list", kinds.SECRET, "", HOME, REFUSED),
    Attack("secret-read", "to read a Secret in the answer to a change of nothing", "patch", kinds.SECRET, "theirs", HOME,
           REFUSED),
    Attack("secret-deleted", "to delete a Secret, which shows it if its dependents go first", "delete", kinds.SECRET, "theirs",
           HOME, REFUSED),
    Attack("token-read", "the token of an account, by a Secret of its own", "patch", kinds.SECRET, "token", HOME, REFUSED,
           TOKEN_SECRET),
    Attack("token-request", "the token of an account, by a request for it", "create", TOKEN, "", HOME, REFUSED,
           {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
    Attack("configmap-read", "to read a ConfigMap", "list", kinds.CONFIG_MAP, "", HOME, REFUSED),
    Attack("pod-made", "a pod with an account of the user's namespace", "create", kinds.POD, "x", HOME, REFUSED,
           {"spec": {"serviceAccountName": "powerful", "containers": [{"name": "c", "image": "i"}]}}),
)  # fmt: skip
