import type { Requirements } from "./requirement.ts";

const stdioLingers = {
  target: "codex-stdio",
  note: "stops answering, but stays until stdin ends",
} as const;

export const framingRequirements = {
  "id:zero": { section: "1.1", behavior: "Id 0 is an id like any other." },
  "id:empty-string": { section: "1.1", behavior: "The empty string is an id like any other." },
  "id:text": {
    section: "1.1",
    behavior: "A string id comes back as the same text, whatever characters it holds.",
  },
  "id:negative": { section: "1.1", behavior: "A negative id comes back unchanged." },
  "id:above-2-53": { section: "1.1", behavior: "An integer id above 2^53 comes back with all its digits." },
  "id:max-i64": { section: "1.1", behavior: "The largest id, 2^63-1, comes back exactly." },
  "id:min-i64": { section: "1.1", behavior: "The smallest id, -2^63, comes back exactly." },
  "id:above-i64": { section: "1.1", behavior: "An integer id of 2^63 or more makes the message malformed." },
  "id:below-i64": { section: "1.1", behavior: "An integer id below -2^63 makes the message malformed." },
  "id:negative-zero": { section: "1.1", behavior: "Id -0 is the integer 0." },
  "id:float-spelling": {
    section: "1.1",
    behavior: "A whole number spelled with a point or an exponent is not an id: the message is malformed.",
  },
  "id:fraction": { section: "1.1", behavior: "A fractional id makes the message malformed." },
  "id:null": { section: "1.1", behavior: "A null id makes the message malformed." },
  "id:wrong-type": {
    section: "1.1",
    behavior: "A boolean, object or array as id makes the message malformed.",
  },
  "id:type-kept": {
    section: "1.1",
    behavior: 'Ids 1 and "1" are different and come back as they were sent.',
  },
  "id:reused": { section: "1.1", behavior: "An id may be used again; each request is answered." },
  "id:in-errors": { section: "1.1", behavior: "Errors carry the id as exactly as results do." },

  "envelope.response:order": {
    section: "1.1",
    behavior: "A response is written as id, then result, and nothing else.",
  },
  "envelope.error:order": {
    section: "1.1",
    behavior: "An error is written as error, with code and message, then id, and nothing else.",
  },
  "envelope:jsonrpc-ignored": {
    section: "1.1",
    behavior: "A jsonrpc member is neither needed nor checked, and never sent.",
  },
  "envelope:unknown-members": { section: "1.1", behavior: "Unknown members of a message are ignored." },
  "envelope.request:method-decides": {
    section: "1.1",
    behavior: "A message with method and id is a request, even with a result or error member beside them.",
  },
  "envelope.notification:no-answer": { section: "1.1", behavior: "A notification is not answered." },
  "envelope.notification:null-id": {
    section: "1.1",
    behavior: "A method with a null id is not a notification: the message is malformed.",
  },
  "envelope.response:result-decides": {
    section: "1.1",
    behavior: "Without a method, a result member makes a response, whatever its error member holds.",
    knownFailures: [stdioLingers],
  },
  "envelope.response:needs-id": { section: "1.1", behavior: "A response without id is malformed." },
  "envelope.error:needs-error": {
    section: "1.1",
    behavior: "A message with neither method, result nor error is malformed for want of error.",
  },
  "envelope.error:incomplete": {
    section: "1.1",
    behavior: "An error without id, code or message, or with a null error, is malformed.",
  },
  "envelope.method:not-a-string": {
    section: "1.1",
    behavior: "A method that is no string makes the message malformed.",
  },

  "params:absent": { section: "1.1", behavior: "A method without parameters accepts absent params." },
  "params:null": { section: "1.1", behavior: "A method without parameters accepts null params." },
  "params:empty-object": { section: "1.1", behavior: "A method without parameters accepts {}." },
  "params:array": { section: "1.1", behavior: "A method without parameters refuses an array with -32602." },
  "params:object": {
    section: "1.1",
    behavior: "A method without parameters refuses a non-empty object with -32602.",
  },
  "params:scalar": { section: "1.1", behavior: "A method without parameters refuses a scalar with -32602." },
  "params:absent-is-null": { section: "1.1", behavior: "Absent params are read as null." },
  "params:unknown-members": { section: "1.1", behavior: "Unknown members of params are ignored." },

  "trace:accepted": { section: "1.1", behavior: "A request may carry a W3C trace context." },
  "trace:unusable": { section: "1.1", behavior: "A trace context that cannot be used is ignored." },
  "trace:null": { section: "1.1", behavior: "A null trace is the same as none." },
  "trace:not-an-object": {
    section: "1.1",
    behavior: "A trace that is a string or number makes the message malformed.",
  },
  "trace:member-type": {
    section: "1.1",
    behavior: "A traceparent that is no string makes the message malformed.",
  },
  "trace:never-sent": {
    section: "1.1",
    behavior: "The server puts no trace on responses and notifications.",
  },

  "json:batch": { section: "1.1", behavior: "An array of messages is malformed: there are no batches." },
  "json:not-an-object": { section: "1.1", behavior: "A message that is a scalar is malformed." },
  "json:duplicate-key": { section: "1.1", behavior: "A member given twice makes the message malformed." },
  "json:duplicate-key-nested": {
    section: "1.1",
    behavior:
      "A member given twice in any inner object makes the message malformed, also where it would be ignored.",
  },
  "json:duplicate-key-escaped": {
    section: "1.1",
    behavior: "A member given twice in two spellings of its name makes the message malformed.",
  },
  "json:same-key-elsewhere": {
    section: "1.1",
    behavior: "Different objects of a message may use the same keys.",
  },
  "json:values-limit": { section: "1.1", behavior: "A message of 262144 JSON values is served." },
  "json:values-over-limit": { section: "1.1", behavior: "A message of 262145 JSON values is malformed." },
  "json:depth-limit": { section: "1.1", behavior: "A message nested 127 deep is served." },
  "json:depth-over-limit": { section: "1.1", behavior: "A message nested 128 deep is malformed." },
  "json:whitespace": { section: "1.1", behavior: "White space around a message is ignored." },
  "json:huge-number": {
    section: "1.1",
    behavior: "A number beyond the range of doubles does no harm where it is ignored.",
  },

  "malformed:keeps-connection": {
    section: "1.2",
    behavior: "A malformed message leaves the connection and its session as they were.",
  },
  "malformed:answer": {
    section: "1.2",
    behavior: "A malformed message is answered by error -32600 with the integer id -1.",
  },
  "malformed:prefix-ws": {
    section: "1.2",
    behavior: "On a websocket the message names the peer's address before the reason.",
    transports: ["ws"],
  },
  "malformed:prefix-stdio": {
    section: "1.2",
    behavior: "On stdio the message names stdio before the reason.",
    transports: ["stdio"],
  },
  "malformed:before-handshake": {
    section: "1.2",
    behavior: "A malformed message before the handshake does not hinder the handshake.",
  },
  "malformed:in-turn": {
    section: "1.2",
    behavior: "A malformed message between requests does not disturb their answers.",
  },
  "malformed:syntax": { section: "1.2", behavior: "Every kind of broken JSON is malformed." },
  "malformed:trailing-text": {
    section: "1.2",
    behavior: "Text after the object, a second object included, is malformed.",
  },
  "malformed:lone-surrogate": {
    section: "1.2",
    behavior: "An escaped half of a surrogate pair is malformed: it has no UTF-8 form.",
  },
  "malformed:byte-order-mark": {
    section: "1.2",
    behavior: "A byte order mark before the object is malformed.",
  },
  "malformed:empty-frame": {
    section: "1.2",
    behavior: "An empty text frame, or one of white space, is malformed.",
    transports: ["ws"],
  },

  "close:unknown-notification": {
    section: "1.3",
    behavior: "A notification other than initialized ends the connection without a word.",
    knownFailures: [stdioLingers],
  },
  "close:unknown-notification-early": {
    section: "1.3",
    behavior: "An unknown notification before the handshake ends the connection without a word.",
    knownFailures: [stdioLingers],
  },
  "close:request-as-notification": {
    section: "1.3",
    behavior: "A request method without id is an unknown notification and ends the connection.",
    knownFailures: [stdioLingers],
  },
  "close:initialized-first": {
    section: "1.3",
    behavior: "initialized before initialize ends the connection without a word.",
    knownFailures: [stdioLingers],
  },
  "close:unmatched-response": {
    section: "1.3",
    behavior: "A response to nothing the server asked ends the connection without a word.",
    knownFailures: [stdioLingers],
  },
  "close:unmatched-error": {
    section: "1.3",
    behavior: "An error for nothing the server asked ends the connection without a word.",
    knownFailures: [stdioLingers],
  },
  "close:others-unharmed": {
    section: "1.3",
    behavior: "Ending one connection leaves the others alone.",
    transports: ["ws", "memory"],
  },
  "close:no-close-frame": {
    section: "1.3",
    behavior: "The end comes as a lost TCP connection, not as a Close frame.",
    transports: ["ws"],
  },
  "close:client-close": {
    section: "1.3",
    behavior: "A client's Close frame ends the connection.",
    transports: ["ws"],
  },
} satisfies Requirements;
