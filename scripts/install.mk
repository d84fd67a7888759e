# What `make install` puts where, and `make uninstall` takes away again. Settings that are there already are kept, by both.
#
# PREFIX=/usr/local DESTDIR= SYSCONFDIR=/etc; the package (deploy/debian/rules) takes the parts one by one.
.PHONY: install uninstall install-program install-templates install-unit install-local install-settings install-docs

SYSCONFDIR ?= /etc
STRIP ?= -s
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
# Where zsh of Debian looks: a folder for packages, another for what is installed beside them.
ZSHDIR ?= $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
MANDIR ?= $(PREFIX)/share/man/man8
UNITDIR ?= $(PREFIX)/lib/systemd/system
DOCDIR ?= $(PREFIX)/share/doc/haproxy-k8s-sync
LOCALDIR ?= $(PREFIX)/share/haproxy-k8s-sync
ASKING := haproxy-k8s-sync-as-service

# $(call placed,FILE,FOLDER,MODE): a text that names the program by its path.
placed = install -d $(DESTDIR)$2 && sed 's|/usr/bin/haproxy-k8s-sync|$(PREFIX)/bin/haproxy-k8s-sync|' $1 >$(DESTDIR)$2/$(notdir $1) && \
	chmod $3 $(DESTDIR)$2/$(notdir $1)

install: all
	@$(MAKE) --no-print-directory install-program install-templates install-unit install-settings install-docs

install-program:
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(MANDIR) $(BASHDIR) $(FISHDIR) $(ZSHDIR))
	install -m 755 $(STRIP) $B/haproxy-k8s-sync $(DESTDIR)$(PREFIX)/bin/
	$(call placed,deploy/systemd/$(ASKING),$(PREFIX)/sbin,755)
	install -m 644 deploy/man/haproxy-k8s-sync.8 $(DESTDIR)$(MANDIR)/
	ln -sf haproxy-k8s-sync.8 $(DESTDIR)$(MANDIR)/$(ASKING).8
	install -m 644 deploy/completion/haproxy-k8s-sync.bash $(DESTDIR)$(BASHDIR)/haproxy-k8s-sync
	ln -sf haproxy-k8s-sync $(DESTDIR)$(BASHDIR)/$(ASKING)
	install -m 644 deploy/completion/haproxy-k8s-sync.fish $(DESTDIR)$(FISHDIR)/
	ln -sf haproxy-k8s-sync.fish $(DESTDIR)$(FISHDIR)/$(ASKING).fish
	install -m 644 deploy/completion/_haproxy-k8s-sync $(DESTDIR)$(ZSHDIR)/

# Template sets, which users copy.
install-templates:
	cd templates && find . -type f -exec install -D -m 644 {} $(abspath $(DESTDIR)$(LOCALDIR))/templates/{} \;

install-unit:
	$(call placed,deploy/systemd/haproxy-k8s-sync.service,$(UNITDIR),644)
	$(MAKE) --no-print-directory install-local

# A part of the unit for those who link it: not where systemd looks by itself.
install-local:
	install -d $(DESTDIR)$(LOCALDIR)
	install -m 644 deploy/systemd/local.conf $(DESTDIR)$(LOCALDIR)/

install-settings:
	install -d -m 700 $(DESTDIR)$(SYSCONFDIR)/haproxy-k8s-sync
	[ -e $(DESTDIR)$(SYSCONFDIR)/haproxy-k8s-sync.env ] || \
		install -m 640 deploy/systemd/haproxy-k8s-sync.env $(DESTDIR)$(SYSCONFDIR)/haproxy-k8s-sync.env

install-docs:
	install -d $(DESTDIR)$(DOCDIR)/examples
	install -m 644 README.md CHANGELOG.md LICENSE $(DESTDIR)$(DOCDIR)/
	install -m 644 config.example.env deploy/rbac.yaml docs/examples/token.yaml $(DESTDIR)$(DOCDIR)/examples/

uninstall:
	rm -f $(addprefix $(DESTDIR),$(PREFIX)/bin/haproxy-k8s-sync $(PREFIX)/sbin/$(ASKING) $(MANDIR)/haproxy-k8s-sync.8 \
		$(MANDIR)/$(ASKING).8 $(BASHDIR)/haproxy-k8s-sync $(BASHDIR)/$(ASKING) $(FISHDIR)/haproxy-k8s-sync.fish \
		$(FISHDIR)/$(ASKING).fish $(ZSHDIR)/_haproxy-k8s-sync $(UNITDIR)/haproxy-k8s-sync.service)
	rm -rf $(DESTDIR)$(DOCDIR) $(DESTDIR)$(LOCALDIR)
	@echo "settings and credentials stay: $(DESTDIR)$(SYSCONFDIR)/haproxy-k8s-sync.env, $(DESTDIR)$(SYSCONFDIR)/haproxy-k8s-sync/"
