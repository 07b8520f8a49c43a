# The image for all of Nestor's processes: operator, syncer, vnode, runner, reader and probe.
#
#   docker build -t nestor .
#   docker build -t nestor-core --target core .     # for all but runners: without the tools that only steps use
#
# `python -m devcluster.build image` builds the same file on a machine without a registry: it replaces BASE, KUBECTL_IMAGE and
# HELM_IMAGE and mounts all wheels at /wheels, so that only Debian's tools are downloaded here.

ARG BASE=docker.io/library/python:3.11-slim-bookworm
ARG KUBECTL_IMAGE=registry.k8s.io/kubectl:v1.36.3
ARG HELM_IMAGE=docker.io/alpine/helm:4.3.1

FROM ${KUBECTL_IMAGE} AS kubectl
FROM ${HELM_IMAGE} AS helm

# Python's standard library is compiled here, like Nestor's packages below: user 65532 cannot store compiled files, so every process would
# otherwise start a second slower.
FROM ${BASE} AS system
RUN set -eu; \
    echo 'nestor:x:65532:65532:Nestor:/tmp:/bin/bash' >> /etc/passwd; \
    echo 'nestor:x:65532:' >> /etc/group; \
    library=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))'); \
    python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$library"
ENV PATH=/opt/nestor/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="Nestor" \
      org.opencontainers.image.description="Runs Kubernetes applications as jobs, each in its own nested K3s cluster" \
      org.opencontainers.image.licenses="Apache-2.0"

# The tools for `custom` template steps; scripts written for KNS call /usr/bin/kubectl and /usr/bin/helm.
FROM system AS commands
RUN set -eu; \
    ln -s /usr/local/bin/kubectl /usr/local/bin/helm /usr/bin/; \
    for tool in git curl jq bash update-ca-certificates; do command -v "$tool" || missing=1; done; \
    if [ -n "${missing:-}" ]; then \
        apt-get update; \
        apt-get install --yes --no-install-recommends \
            'git=1:2.39.*' 'curl=7.88.*' 'jq=1.6-*' 'bash=5.2.*' 'ca-certificates=20*'; \
        rm -rf /var/lib/apt/lists/*; \
    fi

FROM commands AS tools
COPY --from=kubectl /bin/kubectl /usr/local/bin/kubectl
COPY --from=helm /usr/bin/helm /usr/local/bin/helm

# pip and the build backend: used by later stages, not part of the final image.
FROM system AS builder
ARG PIP_OPTIONS=
RUN set -eu; \
    if [ -d /wheels ]; then pip=$(echo /wheels/pip-*.whl)/pip; else pip=$(python3 -c 'import pip; print(pip.__path__[0])'); fi; \
    python3 "$pip" install ${PIP_OPTIONS} --quiet --no-cache-dir --target /opt/backend pip 'hatchling>=1.27'; \
    python3 -m venv --without-pip /opt/nestor
ENV PYTHONPATH=/opt/backend

# Nestor itself.
FROM builder AS nestor
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN set -eu; \
    cd /src; \
    python=/opt/nestor/bin/python; \
    "$python" -m hatchling build --target wheel --directory /src/dist; \
    "$python" -m pip install --quiet --no-index --no-deps --no-compile --no-warn-script-location --prefix /out/opt/nestor dist/*.whl; \
    "$python" -m compileall -q --invalidation-mode unchecked-hash -s /out /out

# Nestor's dependencies: rebuilt only when the lock file changes.
FROM system AS packages
ARG PIP_OPTIONS=
COPY requirements/runtime.txt /opt/nestor/requirements.txt
RUN --mount=type=bind,from=builder,source=/opt/backend,target=/opt/backend set -eu; \
    python3 -m venv --without-pip /opt/nestor; \
    PYTHONPATH=/opt/backend python -m pip install ${PIP_OPTIONS} \
        --quiet --no-cache-dir --no-compile --require-hashes -r /opt/nestor/requirements.txt; \
    python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/nestor/lib

# In both images, the last, thin layer is the only one that changes with Nestor's own code.
FROM system AS core
COPY --from=packages /opt/nestor /opt/nestor
COPY --from=nestor /out /
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["nestor"]

FROM tools
COPY --from=packages /opt/nestor /opt/nestor
COPY --from=nestor /out /
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["nestor"]
