# To be sourced: what the system lacks, from Debian.

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# apt_install PACKAGE…: fails where there is no apt-get. Root is asked for with sudo.
apt_install() {
  command -v apt-get >/dev/null || return 1
  as_root apt-get update -q &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}
