# The daemon, its libraries, CA certificates, and no shell: docker build .
#
#   docker build --build-arg SOURCE_DATE_EPOCH="$(scripts/source-date)" --build-arg REVISION="$(git rev-parse HEAD)" .
#
# It is for the architecture of the engine that builds it: amd64 and arm64 are both built on their own. What goes into the image
# is the business of scripts/rootfs alone; `make image` makes the same one without an engine.
#
# The base by its digest, which no tag can move: --build-arg DEBIAN=debian:trixie-slim@sha256:... `docker buildx imagetools inspect
# debian:trixie-slim` says which it is today. CI builds so, and its log has the digest.
ARG DEBIAN=debian:trixie-slim

FROM ${DEBIAN} AS build
WORKDIR /usr/src/haproxy-k8s-sync
COPY scripts/deps scripts/deps
# What the base image has from the day that it was made may have got security updates since.
RUN apt-get update && apt-get --yes upgrade && scripts/deps build rootfs
COPY . .
ARG TARGETARCH
ARG SOURCE_DATE_EPOCH
RUN test "${TARGETARCH:-$(dpkg --print-architecture)}" = "$(dpkg --print-architecture)" \
    || { echo "this stage runs on $(dpkg --print-architecture), asked for was $TARGETARCH" >&2; exit 1; }
RUN make -s && scripts/rootfs build/haproxy-k8s-sync /rootfs

FROM scratch
COPY --from=build /rootfs/ /
ARG VERSION=1.0.0
ARG REVISION
LABEL org.opencontainers.image.title="haproxy-k8s-sync" \
    org.opencontainers.image.description="Keeps a HAProxy outside a Kubernetes cluster up to date with the nodes and Services inside it" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
# Its own system call filter. Credential plugins of a kubeconfig, which are programs, need SECCOMP=false.
ENV SECCOMP=true
USER 65532:65532
WORKDIR /
EXPOSE 8080/tcp
ENTRYPOINT ["/usr/bin/haproxy-k8s-sync"]
