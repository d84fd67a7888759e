# What is handed out: the image's root filesystem, the image, its bill of materials, the source tarball, the Debian package.
#
# make rootfs        $B/rootfs: all that a container of the daemon needs
# make image         $B/haproxy-k8s-sync-VERSION-ARCH.oci.tar, of the libraries of this machine's Debian; without a container engine
# make sbom          $B/haproxy-k8s-sync-VERSION-ARCH.spdx.json: what is in that image
# make dist          $B/haproxy-k8s-sync-VERSION.tar.gz and SHA256SUMS, of the last commit and its crates: it builds without a network
# make deb           $B/haproxy-k8s-sync_VERSION_ARCH.deb, and its -dbgsym: for the Debian, and the kind of machine, that it is made on
# SUITE=trixie: the first three of that Debian instead, in a chroot of its own (root only)
.PHONY: rootfs image sbom dist deb

ARCH = $(call once,ARCH,dpkg --print-architecture)
ROOTFS := $B/rootfs$(if $(SUITE),-$(SUITE))
RELEASED = $B/haproxy-k8s-sync-$(VERSION)

rootfs:
	@scripts/deps build rootfs
	@rm -rf $(ROOTFS)
ifdef SUITE
	@scripts/rootfs-of-suite $(SUITE) $B/suite-$(SUITE) $(ROOTFS)
else
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync
	@scripts/rootfs $B/haproxy-k8s-sync $(ROOTFS)
endif

image: rootfs
	@scripts/deps image
	@scripts/image $(ROOTFS) $(RELEASED)-$(ARCH).oci.tar $(VERSION)

sbom: rootfs
	@scripts/deps sbom
	@scripts/sbom $(ROOTFS) $(VERSION) >$(RELEASED)-$(ARCH).spdx.json
	@echo $(RELEASED)-$(ARCH).spdx.json

dist:
	@scripts/dist $(VERSION) $B

deb:
	@scripts/deps build deb
	@$(MAKE) --no-print-directory $(PARALLEL) $B/haproxy-k8s-sync
	@scripts/deb $(VERSION) $B
