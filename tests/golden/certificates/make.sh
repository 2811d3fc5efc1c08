#!/bin/sh
# Made the certificates and keys in this folder, once, with OpenSSL 3.0. They are for tests only, so
# their keys are no secrets. Run it in an empty folder to make others; golden files then change.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

new_key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }

# sign NAME SUBJECT EXTENSIONS [FROM] [TO]: NAME.crt for NAME.key, by $issuer or by itself.
sign() {
  : > "$scratch/index.txt"
  printf '%s\n' '[ca]' 'default_ca=own' '[own]' "database=$scratch/index.txt" "new_certs_dir=$scratch" \
    'rand_serial=yes' 'default_md=sha256' 'policy=any' 'unique_subject=no' 'email_in_dn=no' \
    '[any]' 'commonName=optional' '[extensions]' "$3" > "$scratch/ca.cnf"
  openssl req -new -key "$1.key" -subj "$2" -out "$scratch/request.pem"
  if [ -n "${issuer:-}" ]; then by="-cert $issuer.crt -keyfile $issuer.key"
  else by="-selfsign -keyfile $1.key"; fi
  # shellcheck disable=SC2086
  openssl ca -batch -notext -config "$scratch/ca.cnf" -extensions extensions $by \
    -startdate "${4:-20200101000000Z}" -enddate "${5:-21200101000000Z}" \
    -in "$scratch/request.pem" -out "$1.crt"
}

for name in root intermediate app renewed wildcard two expired unnamed; do new_key "$name.key"; done
openssl genrsa -traditional -out rsa.key 2048
openssl genrsa -traditional -out rsa-5120.key 5120
openssl genrsa -traditional -out rsa-1024.key 1024
openssl genpkey -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048 -out rsa-pss.key
openssl ecparam -name secp256k1 -genkey -noout -out secp256k1.key
openssl genpkey -algorithm ed25519 -out ed25519.key
openssl genpkey -algorithm ed448 -out ed448.key

issuer= sign root '/CN=Test Root' 'basicConstraints=critical,CA:true'
issuer=root sign intermediate '/CN=Test Intermediate' 'basicConstraints=critical,CA:true'
issuer=intermediate sign app '/CN=app.example.com' 'subjectAltName=DNS:app.example.com'
issuer= sign renewed '/CN=app.example.com (renewed)' 'subjectAltName=DNS:app.example.com'
issuer= sign wildcard '/CN=*.example.com' 'subjectAltName=DNS:*.example.com'
issuer= sign two '/CN=Two names' 'subjectAltName=DNS:a.example.com,DNS:b.example.com'
issuer= sign expired '/CN=app.example.com (expired)' 'subjectAltName=DNS:app.example.com' \
  20010101000000Z 20020101000000Z
issuer= sign unnamed '/CN=app.example.com' 'basicConstraints=CA:false'
for name in rsa rsa-5120 rsa-1024 rsa-pss secp256k1 ed25519 ed448; do
  issuer= sign "$name" "/CN=app.example.com ($name)" 'subjectAltName=DNS:app.example.com'
done

openssl pkcs8 -topk8 -in app.key -passout pass:test -out encrypted.key
head -n 5 app.crt > half.crt
rm root.crt root.key intermediate.key
