#!/usr/bin/env bash
# Deploys the built Worker, unless a secret it needs is missing.
#
#   scripts/deploy.sh            to Cloudflare
#   scripts/deploy.sh --dry-run  checks the configuration and shows what would be uploaded, with no network
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/step.sh
export WRANGLER_SEND_METRICS=false WRANGLER_HIDE_BANNER=true WRANGLER_LOG_PATH="$PWD/.wrangler/logs"
export PATH="$PWD/node_modules/.bin:$PATH"

if [ "${1:-}" = --dry-run ]; then
  step "Check the deployment" "read wrangler's message above, then correct wrangler.toml" \
    wrangler deploy --dry-run --outdir build/dry
  exit
fi

secrets=$(wrangler secret list --format json) ||
  fail "wrangler could not list the Worker's secrets" \
    "log in (npx wrangler login, or CLOUDFLARE_API_TOKEN), then set it: npx wrangler secret put A2A_CREDENTIALS"
case $secrets in
  *'"A2A_CREDENTIALS"'*) ;;
  *)
    fail "the secret A2A_CREDENTIALS is not set, so that nobody could call the agent" \
      "make tokens with 'node scripts/tokens.mjs --principal NAME', then: npx wrangler secret put A2A_CREDENTIALS"
    ;;
esac
step "Deploy" "read wrangler's message above" wrangler deploy
