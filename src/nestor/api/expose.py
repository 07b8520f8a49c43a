"""How targets of jobs are exposed: what a class says, and what a job wishes."""

from typing import Annotated

from pydantic import Field

from nestor.api.base import DNS_NAME, HostName, HostPattern, ObjectName, checked, rule, rules
from nestor.api.class_parts import Peer
from nestor.api.model import Model, ruled

ISSUERS = ("cert-manager.io/cluster-issuer", "cert-manager.io/issuer")
"""Annotations of Ingresses by which cert-manager makes certificates for their hosts."""

AnnotationKey = Annotated[
    str,
    checked(
        f"self.matches('^({DNS_NAME[1:-1]}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$')",
        "must be the whole key of an annotation, such as 'nginx.ingress.kubernetes.io/proxy-body-size'",
        316,
    ),
]
AnnotationValue = Annotated[
    str,
    Field(
        max_length=1024,
        json_schema_extra=rules(
            rule("!self.matches('[\\\\x00-\\\\x1f\\\\x7f]')", "must not contain line breaks or other control characters")
        ),
    ),
]


class GatewayRef(Model):
    """A Gateway of the host cluster."""

    name: ObjectName = Field(description="Name of the Gateway.")
    namespace: ObjectName = Field(description="Its namespace.")
    section_name: ObjectName | None = Field(None, description="Listener of the Gateway. If not set, all that take the host.")


class ExposePolicy(Model):
    """How the targets of jobs are exposed: one Ingress per target, or one HTTPRoute."""

    model_config = ruled(
        rule(
            "!has(self.tlsSecretName) || !has(self.controllerCertificate) || !self.controllerCertificate",
            "`tlsSecretName` and `controllerCertificate` are mutually exclusive: the certificate is in a Secret, or with the "
            "Ingress controller",
        ),
        rule(
            "!has(self.gateway) || !(has(self.tlsSecretName) || has(self.ingressClassName))",
            "`gateway` may not be set together with `tlsSecretName` or `ingressClassName`: the Gateway has its own class "
            "and certificates; with `controllerCertificate: true`, URLs are https",
        ),
    )

    domain: HostName | None = Field(
        None,
        description="Domain for the hosts of jobs: `<job>-<namespace>.<domain>`, and "
        "`<service>--<job>-<namespace>.<domain>` for further targets. All lie one label below the domain, so one wildcard DNS "
        "entry and certificate for `*.<domain>` cover them. If not set, only jobs that request one of `allowedHosts` with "
        "`expose.host` are exposed, and of these only the first target.",
    )
    allowed_hosts: list[HostPattern] = Field(
        default_factory=list,
        description="Hosts that jobs may request with `expose.host` in addition to those below `domain`: host names, "
        "or `*.example.com` for all hosts below example.com. If not set, there are no others.",
        max_length=64,
    )
    ingress_class_name: ObjectName | None = Field(
        None, description="IngressClass of the Ingresses. Defaults to the host cluster's default class."
    )
    gateway: GatewayRef | None = Field(
        None,
        description="Gateway (`gateway.networking.k8s.io/v1`) that serves the hosts, instead of an Ingress controller: each "
        "target gets an HTTPRoute instead of an Ingress. The Gateway must take routes of the jobs' namespaces, which have the "
        "label `nestor.dev/job`. It has the certificates: set `controllerCertificate` if the URLs are https. `annotations` go to "
        "the HTTPRoutes; cert-manager's have no effect there. Hosts of other people's HTTPRoutes are not checked: of several, "
        "Gateways prefer the oldest.",
    )
    tls_secret_name: ObjectName | None = Field(
        None,
        description="Secret of type kubernetes.io/tls, in the operator's namespace, for the Ingresses' hosts: usually "
        "a wildcard certificate for `domain`. It is copied into each job's namespace, including the private key: anybody who "
        "gets into one of them can impersonate all jobs. Prefer `controllerCertificate`, or an issuer. If none of them is set, "
        "there is no TLS.",
    )
    controller_certificate: bool = Field(
        False,
        description="Whether the Ingress controller has a certificate for the hosts itself, such as a wildcard certificate for "
        "`domain`: ingress-nginx by its `--default-ssl-certificate`, Traefik by the default TLSStore, others in similar ways. "
        "The Ingresses then ask for TLS and name no Secret, so that no private key is copied into the jobs' namespaces. May not "
        "be set together with `tlsSecretName`. Defaults to false.",
    )
    annotations: Annotated[dict[str, str], Field(max_length=64)] | None = Field(
        None,
        description="Annotations for the Ingresses, for example for the controller, or for authentication in front of all URLs. "
        "In values, `$(job)`, `$(namespace)`, `$(class)` and `$(host)` stand for the job's name, its namespace, its class, and "
        "the URL's host. Users can add those of `allowedAnnotations`. Websockets "
        "work without any, but ingress-nginx closes those that are idle for a minute unless "
        "`nginx.ingress.kubernetes.io/proxy-read-timeout` and `…/proxy-send-timeout` are raised, for example to '3600'. Those "
        "of targets that speak HTTPS themselves also have `nginx.ingress.kubernetes.io/backend-protocol: HTTPS`. With "
        "`cert-manager.io/cluster-issuer` or `cert-manager.io/issuer`, and without `tlsSecretName`, each exposed target gets "
        "its own certificate in Secret `<Ingress>-tls` of the job's namespace.",
    )
    allowed_annotations: Annotated[list[AnnotationKey], Field(max_length=64)] = Field(
        default_factory=list,
        description="Keys of annotations that jobs may set on their Ingresses with `expose.annotations`; theirs replace "
        "those of `annotations`. Users choose their values, which configure a shared controller: list none that takes code, "
        "such as snippets, paths, or names of Secrets and Services. If not set, none are allowed.",
    )
    port: int | None = Field(
        None,
        description="Port of the URLs in the jobs' status. Defaults to 443 if `tlsSecretName`, `controllerCertificate` or "
        "cert-manager provides TLS, otherwise to 80. With port 443, URLs are https in any case: something before the Ingress "
        "controller provides TLS.",
        ge=1,
        le=65535,
    )
    from_: list[Peer] = Field(
        default_factory=list,
        alias="from",
        description="Where traffic to exposed pods may come from, that is, where the Ingress controller runs: its namespace, or "
        "the nodes' address range if it is on the host network. `*` is all namespaces that belong to no job. Defaults to `*`.",
        max_length=32,
    )

    @property
    def has_tls(self) -> bool:
        return bool(self.tls_secret_name) or self.controller_certificate or self.has_issuer

    @property
    def has_issuer(self) -> bool:
        """Whether the annotations ask cert-manager for a certificate."""
        return self.gateway is None and any((self.annotations or {}).get(name) for name in ISSUERS)


class JobExpose(Model):
    """How the job's targets can be reached."""

    host: HostName | None = Field(
        None,
        description="Host name of the job's URL, which leads to the AppDef's first target. Defaults to "
        "`<job>-<namespace>.<class's domain>`, with a hash after the namespace if that could also be a job of another existing "
        "namespace (`hello` in `team-a`, `hello-team` in `a`). It must lie below the class's domain or match the class's "
        "`expose.allowedHosts`. A host already used by another Ingress of the same class or by an older job stays with its "
        "owner; another job's default host belongs to that job. Hosts of Gateways, IngressRoutes and other resources are not "
        "checked. It can be changed while the job runs.",
    )
    all_targets: bool = Field(
        False,
        description="Whether to expose all of the AppDef's targets instead of only the first. Further targets get "
        "`<service>--<job>-<namespace>.<class's domain>`, regardless of `host`; `status.targets` lists the URLs. When several "
        "targets share a Service, or the Service's name has two letters, the label is `<service>-<port>--…`. `Exposed` becomes "
        "True once all targets are reachable; if another user has a host, only its target is not exposed. Defaults to false.",
    )
    annotations: Annotated[dict[str, AnnotationValue], Field(max_length=32)] | None = Field(
        None,
        description="Annotations for the job's Ingresses, with the keys that the class's `expose.allowedAnnotations` lists. With "
        "any other, no target is exposed. It can be changed while the job runs.",
    )
