import type { Requirements } from "./requirement.ts";

const requestRequirements = {
  "http-request:required-members": { section: "8", behavior: "method, url and requestId are required." },
  "http-request:member-types": { section: "8", behavior: "A member of another type is refused." },
  "http-request:optional-null": {
    section: "8",
    behavior:
      "bodyBase64, timeoutMs and valueEnvVar may be null; headers, redirectPolicy and streamResponse may not.",
  },
  "http-request:unknown-members": { section: "8", behavior: "Unknown members are ignored." },
  "http-request:request-id": { section: "8", behavior: "requestId may be any string, and repeat." },
  "http-request:result": {
    section: "8",
    behavior: "The answer has status, headers and body, and nothing else.",
  },
  "http-request:check-order": {
    section: "8",
    behavior: "The method is checked first, then the URL, then each header in turn: name, variable, value.",
  },
  "http-request.method:as-given": {
    section: "8",
    behavior: "The method is sent as it is given, in its own case.",
  },
  "http-request.method:invalid": { section: "8", behavior: "What is no HTTP token is no method." },
  "http-request.url:invalid": { section: "8", behavior: "What is no absolute URL is refused." },
  "http-request.url:long": {
    section: "8",
    behavior: "A URL of more than 65534 bytes is not sent.",
  },
  "http-request.url:scheme": { section: "8", behavior: "Only http and https are spoken." },
  "http-request.url:target": {
    section: "8",
    behavior: "The target is the path and query as URLs are normalised, without the fragment.",
  },
  "http-request.url:credentials": {
    section: "8",
    behavior:
      "Name and password of the URL become basic authorization, unless there is an Authorization header.",
  },
  "http-request.url:ipv6": { section: "8", behavior: "An IPv6 address may be the host." },
  "http-request.headers:own": {
    section: "8",
    behavior:
      "The server adds accept and host, and nothing else, except that ours says `connection: keep-alive`.",
  },
  "http-request.headers:lower-case": { section: "8", behavior: "Names are sent in lower case." },
  "http-request.headers:order": {
    section: "8",
    behavior:
      "Headers keep their order; repeats follow the first of their name. The server's own follow, except that ours begins with host and connection.",
  },
  "http-request.headers:accept": { section: "8", behavior: "An accept header replaces the server's own." },
  "http-request.headers:host": { section: "8", behavior: "A host header replaces the server's own." },
  "http-request.headers:values": {
    section: "8",
    behavior: "Values are sent byte for byte, blanks and UTF-8 included.",
  },
  "http-request.headers:many": { section: "8", behavior: "300 headers are sent." },
  "http-request.headers:name-invalid": { section: "8", behavior: "What is no HTTP token is no header name." },
  "http-request.headers:value-invalid": {
    section: "8",
    behavior: "A value with a control character is refused; the error shows the name as it was given.",
  },
  "http-request.body:bytes": {
    section: "8",
    behavior: "A body is sent with its length, last of the headers, by any method.",
  },
  "http-request.body:none": {
    section: "8",
    behavior: "Without a body, or with an empty one, no length is sent.",
    origin: "codex",
    note: "This server says that it is 0 where the method lets one expect a body.",
  },
  "http-request.body:no-bytes": {
    section: "8",
    behavior: "Without a body, or with an empty one, POST, PUT and PATCH tell a length of 0, others none.",
    origin: "ours",
    note: "The real server never tells one.",
  },
  "http-request.body:large": { section: "8", behavior: "8 MiB are sent unchanged." },
  "http-request.body:invalid": { section: "8", behavior: "A body that is not base64 is refused." },
  "http-request.body:own-length": {
    section: "8",
    behavior: "A right content-length header is sent once: in its place, and by ours behind all others.",
  },
  "http-request.body:short-length": {
    section: "8",
    behavior:
      "A content-length header shorter than the body cuts it: nothing of it is taken for another request.",
  },
  "http-request.body:unusable-length": {
    section: "8",
    behavior: "A content-length header that is no number is replaced.",
  },
  "http-request.body:chunked": {
    section: "8",
    behavior: "A transfer-encoding header of chunked makes the body so.",
  },
  "http-request.body:chunked-and-length": {
    section: "8",
    behavior: "Beside a transfer-encoding header a content-length is not sent.",
  },
  "http-request.body:other-coding": {
    section: "8",
    behavior: "A body with another transfer-encoding is sent in chunks as well.",
    origin: "codex",
    note: "This server refuses it.",
  },
  "http-request.body:other-coding-refused": {
    section: "8",
    behavior:
      "A body with another transfer-encoding is refused: without its name it would be taken for another.",
    origin: "ours",
    note: "The real server adds chunked to it.",
  },
  "http-request.headers:of-the-connection": {
    section: "8",
    behavior:
      "Of headers about the connection, `close` and `upgrade` are heeded, and keep-alive and expect are not sent. HEAD ends it.",
    origin: "ours",
    note: "The real server sends them as they are.",
  },
  "http-request.headers:first-host": {
    section: "8",
    behavior: "Of several host headers the first is sent.",
    origin: "ours",
    note: "The real server sends them all.",
  },
  "http-request.url:no-credentials": {
    section: "8",
    behavior:
      "A name or password that is not UTF-8 is left out, the password with its name; what is no escape stays as it is.",
  },
  "http-request.method:connect": {
    section: "8",
    behavior: "CONNECT asks for host and port, and its answer ends with the head.",
  },
  "http-request:reuse": { section: "8", behavior: "A connection carries one request after another." },
} satisfies Requirements;

const responseRequirements = {
  "http-response:statuses": { section: "8", behavior: "Every status from 200 to 999 is a result." },
  "http-response:informational": { section: "8", behavior: "Answers 1xx before the answer are passed over." },
  "http-response:continue": {
    section: "8",
    behavior: "So is 100.",
    origin: "codex",
    note: "This server never asks whether to go on, and takes it for the answer to somebody else.",
  },
  "http-response:continue-refused": {
    section: "8",
    behavior: "100, which nobody has asked for, is an error.",
    origin: "ours",
    note: "The real server passes over it.",
  },
  "http-response:switching": { section: "8", behavior: "101 is a result without a body." },
  "http-response.headers:names": {
    section: "8",
    behavior: "Names come in lower case and in order; repeats follow the first of their name.",
  },
  "http-response.headers:values": {
    section: "8",
    behavior: "Values come trimmed, and may be empty or have tabs.",
  },
  "http-response.headers:not-ascii": {
    section: "8",
    behavior: "Headers with other than visible ASCII are left out.",
  },
  "http-response.headers:many": { section: "8", behavior: "100 headers come, and one of 100 kB." },
  "http-response.body:raw": {
    section: "8",
    behavior: "Bodies are not decompressed, and their headers stay.",
  },
  "http-response.body:none": {
    section: "8",
    behavior: "The answer to HEAD, 204 and 304 have no body, whatever the length says.",
  },
  "http-response.body:chunked": {
    section: "8",
    behavior: "Chunks are put together; extensions and trailers are dropped.",
  },
  "http-response.body:until-close": {
    section: "8",
    behavior: "A body without length lasts until the connection ends.",
  },
  "http-response.body:large": { section: "8", behavior: "20 MiB come in one answer." },
  "http-response.body:truncated": {
    section: "8",
    behavior: "A body that breaks off is an error, not a short body.",
  },
  "http-response:refused": {
    section: "8",
    behavior: "A refused connection is an error that shows the URL, less its credentials.",
  },
  "http-response:https-refused": { section: "8", behavior: "The same goes for https." },
  "http-response:no-answer": {
    section: "8",
    behavior: "A connection that ends before the head does is an error.",
  },
  "http-response:garbage": { section: "8", behavior: "An answer that is not HTTP is an error." },
  "http-response:conflicting-lengths": {
    section: "8",
    behavior: "An answer with two different lengths is an error.",
  },
  "http-response:equal-lengths": {
    section: "8",
    behavior: "The same length may be told more than once.",
    origin: "codex",
    note: "This server refuses it.",
  },
  "http-response:length-and-chunked": {
    section: "8",
    behavior: "A chunked body is read as such, whatever its length is said to be.",
    origin: "codex",
    note: "This server refuses it.",
  },
  "http-response:line-ends": {
    section: "8",
    behavior: "Lines of the head may end without a carriage return.",
    origin: "codex",
    note: "This server refuses it.",
  },
  "http-response:empty-lines": { section: "8", behavior: "Empty lines may come before the head." },
  "http-response:strict": {
    section: "8",
    behavior:
      "A length that is told twice, or beside chunks, lines that end without a carriage return and 101 that nobody has asked for are errors, and end the connection.",
    origin: "ours",
    note: "The real server takes all of them.",
  },
  "http-response:version": {
    section: "8",
    behavior: "An answer of HTTP/2.0 is an error.",
    origin: "codex",
    note: "This server reads it like one of HTTP/1.1.",
  },
  "http-response:not-http": {
    section: "8",
    behavior: "Heads and chunks that break the rules of HTTP are errors.",
  },
  "http-response:after-failure": { section: "8", behavior: "A failure does not spoil the next request." },
  "http-response:idle-closed": {
    section: "8",
    behavior: "A connection the other side has closed in the meantime is not used.",
  },
  "http-response:idle-race": {
    section: "8",
    behavior: "A request that may be repeated is, when an idle connection ends without a byte of the answer.",
    origin: "ours",
    note: "The real server fails every such request.",
  },
  "http-timeout:head": {
    section: "8",
    behavior: "timeoutMs ends the wait for the head, and the connection with it.",
  },
  "http-timeout:body": {
    section: "8",
    behavior: "timeoutMs ends the wait for the body, and the connection with it.",
  },
  "http-timeout:redirects": {
    section: "8",
    behavior: "One time limit covers all redirects; the error shows where it struck.",
  },
  "http-timeout:late": {
    section: "8",
    behavior: "An answer that the server finds only after the limit is too late: no redirect is followed.",
    transports: ["cli"],
    origin: "ours",
    note: "The real server says this, or what it says about a limit of 0, depending on its threads.",
  },
  "http-timeout:zero": { section: "8", behavior: "A limit of 0 is over before the request is sent." },
  "http-timeout:numbers": {
    section: "8",
    behavior: "Any 64-bit number is a limit, however great; others are refused.",
  },
} satisfies Requirements;

const redirectRequirements = {
  "http-redirect:statuses": {
    section: "8",
    behavior: "301, 302, 303, 307 and 308 are followed, the rest of 3xx is not.",
  },
  "http-redirect:post": {
    section: "8",
    behavior: "After 301 and 302 a POST becomes a GET without body and the headers that describe one.",
  },
  "http-redirect:other-methods": {
    section: "8",
    behavior: "After 301 and 302 every other method is kept, with its body.",
  },
  "http-redirect:see-other": {
    section: "8",
    behavior: "After 303 every method but HEAD becomes GET, without body.",
  },
  "http-redirect:preserving": {
    section: "8",
    behavior: "After 307 and 308 method, headers and body are kept.",
  },
  "http-redirect:referer": {
    section: "8",
    behavior: "A referer is added or replaced: the URL before, without credentials and fragment.",
  },
  "http-redirect:referer-origin": { section: "8", behavior: "Another origin is told the origin only." },
  "http-redirect:same-origin": { section: "8", behavior: "The same origin gets all headers again." },
  "http-redirect:other-origin": {
    section: "8",
    behavior:
      "Another host or port does not get authorization, cookie, proxy-authorization and www-authenticate.",
  },
  "http-redirect:host": {
    section: "8",
    behavior: "A host header of the caller is kept, to another origin too.",
  },
  "http-redirect:url-credentials": {
    section: "8",
    behavior: "Credentials of the URL go to the same origin only; those of a location are not used.",
  },
  "http-redirect:relative": { section: "8", behavior: "A location is resolved against the URL before." },
  "http-redirect:no-location": {
    section: "8",
    behavior: "A redirect whose location is missing, not ASCII or no URL is the result itself.",
  },
  "http-redirect:scheme": {
    section: "8",
    behavior: "A location that is neither http nor https is an error.",
  },
  "http-redirect:refused": { section: "8", behavior: "An error on the way shows the URL where it happened." },
  "http-redirect:cookies": { section: "8", behavior: "Cookies that are set on the way are not sent." },
  "http-redirect:limit": { section: "8", behavior: "Ten redirects are followed; the eleventh is an error." },
  "http-redirect:stop": { section: "8", behavior: "With redirectPolicy stop a redirect is the result." },
  "http-redirect:policy": { section: "8", behavior: "redirectPolicy is follow or stop and nothing else." },
} satisfies Requirements;

const streamRequirements = {
  "http-stream:order": {
    section: "9.4",
    behavior: "The answer comes first, with an empty body, then the deltas.",
  },
  "http-stream:delta": {
    section: "9.4",
    behavior: "A delta has requestId, seq, deltaBase64, done and error, in this order.",
  },
  "http-stream:sequence": {
    section: "9.4",
    behavior: "seq counts from 1 without gaps, and the last delta alone is done.",
  },
  "http-stream:last": { section: "9.4", behavior: "The last delta carries no data." },
  "http-stream:empty": { section: "9.4", behavior: "A body of no bytes, and none at all, is one delta." },
  "http-stream:at-once": {
    section: "9.4",
    behavior: "Data comes when it is there, not when the body is complete.",
  },
  "http-stream:statuses": { section: "9.4", behavior: "The body of any status is streamed." },
  "http-stream:raw": { section: "9.4", behavior: "A streamed body is not decompressed." },
  "http-stream:redirects": {
    section: "9.4",
    behavior: "The body of the last answer is streamed, the redirect's own with stop.",
  },
  "http-stream:size": {
    section: "9.4",
    behavior: "A delta carries 1 MiB at most, however the body was chunked.",
  },
  "http-stream:large": { section: "9.4", behavior: "20 MiB come unchanged." },
  "http-stream:truncated": {
    section: "9.4",
    behavior: "A body that breaks off ends with what came and an error.",
  },
  "http-stream:timeout": { section: "9.4", behavior: "timeoutMs ends a stream with an error." },
  "http-stream:failed": {
    section: "9.4",
    behavior: "A failure before the head is the answer, and no delta follows.",
  },
  "http-stream:duplicate": {
    section: "8",
    behavior: "The id of a stream that runs is refused for another, before anything else is looked at.",
  },
  "http-stream:duplicate-pending": {
    section: "8",
    behavior: "The id of a stream whose head has not come is refused too.",
    transports: ["cli"],
  },
  "http-stream:buffered-duplicate": {
    section: "8",
    behavior: "A request without a stream may have the id of one.",
  },
  "http-stream:id-reuse": {
    section: "8",
    behavior: "An id is free when its stream has ended or could not begin.",
  },
  "http-stream:other-connection": {
    section: "8",
    behavior: "Another connection may have the same id, and each gets its own deltas.",
    transports: ["ws"],
  },
  "http-stream:empty-id": { section: "8", behavior: "The id of a stream may be empty." },
  "http-stream:several": {
    section: "9.4",
    behavior: "Streams run side by side, and other calls beside them.",
  },
  "http-stream:disconnect": { section: "8", behavior: "When the client goes its streams are aborted." },
  "http-stream:back-pressure": {
    section: "9.4",
    behavior: "While the client does not read, a stream is not read on.",
    transports: ["ws"],
  },
  "http-request:disconnect": { section: "8", behavior: "When the client goes its requests are aborted." },
  "http-request:concurrent": {
    section: "8",
    behavior: "A request that waits for its answer delays no other call, and no other request.",
    origin: "ours",
    note: "The real server answers one request after another unless --concurrent-requests says otherwise.",
  },
} satisfies Requirements;

// These concern the server's environment, so each starts a server with its own environment.
const cli = { section: "8", transports: ["cli"] } as const;

const environmentRequirements = {
  "http-variable:appended": {
    ...cli,
    behavior: "valueEnvVar appends a variable of the server to the value.",
  },
  "http-variable:unset": {
    ...cli,
    behavior: "A variable that is not set is refused; names are case-sensitive.",
  },
  "http-variable:empty": { ...cli, behavior: "A variable that is empty is refused." },
  "http-variable:denied": {
    ...cli,
    behavior: "Variables with credentials are refused in any case, set or not.",
  },
  "http-variable:value-invalid": {
    ...cli,
    behavior: "A variable with a control character is an invalid value.",
  },
  "http-proxy:http": {
    ...cli,
    behavior: "HTTP_PROXY takes requests to http URLs, whole URL in the request line.",
  },
  "http-proxy:spelling": { ...cli, behavior: "Lower-case names work too; those in capitals come first." },
  "http-proxy:https": {
    ...cli,
    behavior: "HTTPS_PROXY is asked to CONNECT for https URLs, and for these only.",
  },
  "http-proxy:no-tunnel": {
    ...cli,
    behavior: "A proxy that gives no tunnel is an error, and is asked once.",
  },
  "http-proxy:all": { ...cli, behavior: "ALL_PROXY is for what no other variable names a proxy for." },
  "http-proxy:credentials": {
    ...cli,
    behavior: "Name and password of the proxy's URL become proxy-authorization.",
  },
  "http-proxy:no-scheme": { ...cli, behavior: "A proxy may be named by host and port alone." },
  "http-proxy:unusable": { ...cli, behavior: "A proxy that is empty or no URL is ignored." },
  "http-proxy:unreachable": {
    ...cli,
    behavior: "A proxy that cannot be reached is an error: there is no way round.",
  },
  "http-proxy:exceptions": {
    ...cli,
    behavior: "NO_PROXY lists addresses, networks and domains, with their subdomains, that need no proxy.",
  },
  "http-secure:request": {
    ...cli,
    behavior: "https URLs are asked through TLS, and the connection is used again.",
  },
  "http-secure:redirect": {
    ...cli,
    behavior: "The same host and port by another scheme is another origin: it gets no credentials.",
  },
  "http-secure:large": { ...cli, behavior: "4 MiB come through TLS unchanged." },
  "http-secure:untrusted": {
    ...cli,
    behavior: "A server whose certificate nobody has vouched for gets no request.",
  },
  "http-secure:tunnel": {
    ...cli,
    behavior: "The tunnel of a proxy carries TLS with the server itself.",
  },
  "http-proxy:cgi": { ...cli, behavior: "HTTP_PROXY is ignored where REQUEST_METHOD tells of CGI." },
} satisfies Requirements;

export const httpRequirements = {
  ...requestRequirements,
  ...responseRequirements,
  ...redirectRequirements,
  ...streamRequirements,
  ...environmentRequirements,
} satisfies Requirements;
