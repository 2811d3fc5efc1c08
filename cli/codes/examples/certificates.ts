/** Examples of problems of certificates and credentials. In: nothing. Out: by reason, YAML with the mistake, or a situation in a sentence. */

export const CERTIFICATE_EXAMPLES: Readonly<Record<string, string>> = {
  CredentialsInvalid:
    "A Secret of auth-secret with lines in a format of htpasswd that is not supported.",
  SecretNotFound: [
    "spec:",
    "  tls:",
    "    - { hosts: [shop.example.com], secretName: shop-tls }   # no such Secret",
  ].join("\n"),
  SecretInvalid: "A Secret of type kubernetes.io/tls whose tls.key does not belong to tls.crt.",
  CertificateKeyTooLong: "A certificate with an RSA key of 8192 bits.",
  CertificateTooLarge: "A tls.crt with the server's certificate and 150 roots behind it.",
  SecretNameMissing: [
    "spec:",
    "  tls:",
    "    - hosts: [shop.example.com]",
  ].join("\n"),
  SecretTypeUnexpected: [
    "kind: Secret",
    "type: Opaque   # with tls.crt and tls.key",
  ].join("\n"),
  TlsHostConflict: "Two Ingresses with tls entries for shop.example.com and different Secrets.",
  TlsHostWithoutRule: [
    "spec:",
    "  tls:",
    "    - { hosts: [www.example.com], secretName: www }",
    "  rules:",
    "    - host: example.com",
  ].join("\n"),
  RedirectSkipped:
    "A certificate for *.example.com, while another namespace owns shop.example.com.",
  TlsHostsMissing: [
    "spec:",
    "  tls:",
    "    - secretName: shop-tls   # a certificate without names",
  ].join("\n"),
  CertificateExpired: "A Secret whose certificate was valid until yesterday.",
  CertificateNotYetValid: "A Secret whose certificate is valid from tomorrow on.",
  CertificateChainBroken: "A tls.crt with the certificate of the root before that of its issuer.",
  CertificateWithoutNames: "A certificate with CN=shop.example.com and no subjectAltName.",
  CertificateHostMismatch: [
    "spec:",
    "  tls:",
    "    - { hosts: [shop.example.com], secretName: www }   # a certificate for www.example.com",
  ].join("\n"),
};
