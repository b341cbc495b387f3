#!/bin/sh
# Installs what package-lock.json names, compiles, and bundles the tuned class. What is done already is not done again.
set -eu
cd "$(dirname "$0")"
if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
    npm ci --ignore-scripts --no-audit --no-fund
    cp package-lock.json node_modules/.installed-lock.json
fi
node_modules/.bin/tsc
# One file with what is imported: the library's index loads every kind of Kubernetes. `require` is for the CommonJS packages in it.
node_modules/.bin/esbuild dist/tuned/main.js --bundle --minify --platform=node --format=esm --target=node20 \
    --outfile=dist/tuned.mjs --log-level=warning \
    --banner:js='import { createRequire } from "node:module"; const require = createRequire(import.meta.url);'
