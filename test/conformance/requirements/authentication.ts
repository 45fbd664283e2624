import type { Requirements } from "./requirement.ts";

const cli = { section: "1.7", transports: ["cli"] } as const;

const headerRequirements = {
  "auth:off": {
    section: "1.7",
    behavior: "Without --ws-auth an Authorization header means nothing, whatever it says.",
    transports: ["ws"],
  },
  "auth:upgrade-only": { ...cli, behavior: "A client that was let in is served like any other." },
  "auth:non-loopback": { ...cli, behavior: "With authentication any address may be bound." },
  "auth.header:missing": {
    ...cli,
    behavior: "An upgrade without Authorization is answered 401 in plain text.",
  },
  "auth.header:scheme-case": { ...cli, behavior: "The scheme Bearer is read without regard to case." },
  "auth.header:blanks": { ...cli, behavior: "Blanks around the token do not count." },
  "auth.header:invalid": {
    ...cli,
    behavior: "Another scheme, a scheme that no space ends, and an empty token are an invalid header.",
  },
  "auth.header:not-ascii": { ...cli, behavior: "A header with other than visible ASCII is an invalid one." },
  "auth.header:repeated": { ...cli, behavior: "Of several Authorization headers the first one counts." },
  "auth.header:elsewhere": { ...cli, behavior: "A token in the query or in a subprotocol is not looked at." },
  "auth.order:readyz": { ...cli, behavior: "/readyz needs no token." },
  "auth.order:origin": { ...cli, behavior: "An Origin header is answered 403 before a token is looked at." },
  "auth.order:path": { ...cli, behavior: "An unknown path is answered 404 before a token is looked at." },
  "auth.order:upgrade": {
    ...cli,
    behavior: "A request on / that is no upgrade is answered 400 or 405 before a token is looked at.",
  },
} satisfies Requirements;

const capabilityTokenRequirements = {
  "auth.token:file": {
    ...cli,
    behavior: "The token is what the file holds, less the white space around it.",
  },
  "auth.token:file-read-once": { ...cli, behavior: "The file is read when the server starts, not again." },
  "auth.token:relative-file": {
    ...cli,
    behavior: "A relative path is resolved against the working directory, and dot segments go.",
  },
  "auth.token:home-file": { ...cli, behavior: "~ at the start of a path is the home directory." },
  "auth.token:digest": {
    ...cli,
    behavior: "With a digest the token is the text that has it; the digest itself is no token.",
  },
  "auth.token:digest-spelling": {
    ...cli,
    behavior: "The digest may be written in capitals, and with blanks around it.",
  },
  "auth.token:wrong": { ...cli, behavior: "Another token is answered 401; case and length count." },
} satisfies Requirements;

const jwtRequirements = {
  "auth.jwt:accepted": {
    ...cli,
    behavior: "A JWT signed HS256 with the secret and not expired is accepted.",
  },
  "auth.jwt:secret-trimmed": {
    ...cli,
    behavior: "White space around the secret in its file does not count.",
  },
  "auth.jwt:header": {
    ...cli,
    behavior:
      "typ may be absent or any string, and other header members are ignored; typ of another type is not.",
  },
  "auth.jwt:algorithm": { ...cli, behavior: "Any alg but HS256 is refused, spelled exactly so." },
  "auth.jwt:signature": { ...cli, behavior: "A signature of another key, cut or padded, is refused." },
  "auth.jwt:shape": { ...cli, behavior: "What is not three parts of JSON is refused." },
  "auth.jwt:exp-required": { ...cli, behavior: "exp is required and must be a 64-bit integer." },
  "auth.jwt:exp-range": { ...cli, behavior: "exp may be any 64-bit integer: the greatest is never past." },
  "auth.jwt:expired": { ...cli, behavior: "A token is refused when exp is past." },
  "auth.jwt:exp-skew": { ...cli, behavior: "exp may be past by 30 seconds and no more." },
  "auth.jwt:nbf": { ...cli, behavior: "A token is refused while nbf lies ahead." },
  "auth.jwt:nbf-skew": { ...cli, behavior: "nbf may lie ahead by 30 seconds and no more." },
  "auth.jwt:nbf-type": { ...cli, behavior: "nbf may be absent or null, else it must be an integer." },
  "auth.jwt:other-claims": { ...cli, behavior: "iat and unknown claims are ignored, whatever their type." },
  "auth.jwt:repeated-claim": { ...cli, behavior: "A claim given twice is refused." },
  "auth.jwt:unchecked": {
    ...cli,
    behavior: "Without the options iss and aud may have any value of their types, and may be absent or null.",
  },
  "auth.jwt:claim-types": {
    ...cli,
    behavior: "iss that is no string, and aud that is neither string nor array of strings, is refused.",
  },
  "auth.jwt:issuer": { ...cli, behavior: "With --ws-issuer, iss must be exactly that." },
  "auth.jwt:audience": {
    ...cli,
    behavior: "With --ws-audience, aud must be that or an array that holds it.",
  },
  "auth.jwt:blank-options": { ...cli, behavior: "A blank issuer or audience option is as good as none." },
  "auth.jwt:trimmed-options": {
    ...cli,
    behavior: "Blanks around an issuer or audience option do not count.",
  },
  "auth.jwt:skew-option": {
    ...cli,
    behavior: "--ws-max-clock-skew-seconds replaces the 30 seconds, by 0 too.",
  },
  "auth.jwt:skew-greatest": { ...cli, behavior: "The greatest skew lets every time pass." },
  "auth.jwt:check-order": {
    ...cli,
    behavior: "The signature is checked first, then exp, nbf, issuer and audience.",
  },
} satisfies Requirements;

const startRequirements = {
  "auth.start:mode": {
    ...cli,
    behavior: "An unknown mode, an empty one or none is a usage error, status 2.",
  },
  "auth.start:twice": { ...cli, behavior: "--ws-auth given twice is a usage error, status 2." },
  "auth.start:no-value": { ...cli, behavior: "An option without its value is a usage error, status 2." },
  "auth.start:no-token": { ...cli, behavior: "capability-token needs a token file or a digest." },
  "auth.start:two-tokens": { ...cli, behavior: "A token file and a digest exclude each other." },
  "auth.start:digest": { ...cli, behavior: "A digest that is not 64 hexadecimal digits is refused." },
  "auth.start:token-file-empty": { ...cli, behavior: "A token file of nothing but white space is refused." },
  "auth.start:token-file-unreadable": {
    ...cli,
    behavior: "A token file that is missing, a directory or not UTF-8 is refused.",
  },
  "auth.start:no-secret": { ...cli, behavior: "signed-bearer-token needs a secret file." },
  "auth.start:secret-short": {
    ...cli,
    behavior: "A secret of less than 32 bytes, less its white space, is refused.",
  },
  "auth.start:secret-empty": { ...cli, behavior: "An empty secret is refused as empty, not as short." },
  "auth.start:secret-missing": { ...cli, behavior: "A secret file that does not exist is refused." },
  "auth.start:no-mode": { ...cli, behavior: "Every other option needs --ws-auth, empty ones too." },
  "auth.start:foreign-jwt-options": {
    ...cli,
    behavior: "Options of signed-bearer-token are refused with capability-token.",
  },
  "auth.start:foreign-token-options": {
    ...cli,
    behavior: "Options of capability-token are refused with signed-bearer-token.",
  },
  "auth.start:skew-number": {
    ...cli,
    behavior: "A skew that is no whole number is a usage error, status 2.",
  },
  "auth.start:skew-range": { ...cli, behavior: "A skew beyond 63 bits is refused." },
  "auth.start:stdio": { ...cli, behavior: "stdio cannot be authenticated." },
  "auth.start:check-order": {
    ...cli,
    behavior: "The options are checked first, then the listen URL, then the files.",
  },
} satisfies Requirements;

export const authenticationRequirements = {
  ...headerRequirements,
  ...capabilityTokenRequirements,
  ...jwtRequirements,
  ...startRequirements,
} satisfies Requirements;
