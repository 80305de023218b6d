# SPDX-License-Identifier: Apache-2.0
# A stand-in for Google Cloud: metadata server, OAuth, Cloud TPU and Compute Engine in one server. Sourced by the tests.

# shellcheck source=until.bash
source "$(dirname "${BASH_SOURCE[0]}")/until.bash"

google_setup() {
  unset TF_CONFIG TFD_LOG "${!TPU_@}" "${!KUBE_@}" "${!MEGASCALE_@}" "${!GCE_@}" "${!GOOGLE_@}" "${!CLOUDSDK_@}" "${!SLURM_@}" \
    http_proxy https_proxy all_proxy ALL_PROXY
  export HOME=$BATS_TEST_TMPDIR
  cd "$BATS_TEST_TMPDIR" || return
}

google_teardown() {
  exec 9>&- || :
}

metadata() {  # PATH TEXT: what the metadata server has there
  jq -nc --arg path "/computeMetadata/v1/$1" --arg text "$2" '{path: $path, headers: {"Metadata-Flavor": "Google"},
    replies: [{headers: {"Metadata-Flavor": "Google"}, body: $text}]}'
}

# The service account's token.
metadata_token() {
  metadata instance/service-accounts/default/token '{"access_token": "hunter2", "expires_in": 3000, "token_type": "Bearer"}'
}

route() {  # METHOD PATH REPLY…: with the token
  jq -nc --arg method "$1" --arg path "$2" '{method: $method, path: $path, headers: {Authorization: "Bearer hunter2"},
    replies: $ARGS.positional}' --jsonargs "${@:3}"
}

google() {  # ROUTE…: the cloud, its URL in $url, its requests in requests.jsonl
  jq -nc '{routes: $ARGS.positional}' --jsonargs "$@" >script.json
  mkfifo commands
  "$TFD_BUILD/tests/kit/tfd-http-stand-in" script.json requests.jsonl <commands >url 3>&- &
  exec 9>commands
  until_true test -s url
  url=$(<url)
  export GCE_METADATA_HOST=${url#http://} CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU=$url/ CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=$url/compute/v1
}

asked() {  # "METHOD path?query", one a line
  jq -r '"\(.method) \(.target)"' requests.jsonl
}
