import { expect, it } from "vitest";
import { cut, redactArgv, redactUrl, variableNames } from "./redact.ts";

it("a URL loses its user, its password, the values of its query and its fragment", () => {
  expect(redactUrl("https://ann:pa55@example.com/a/b?token=abc&q=x%20y#key")).toBe(
    "https://example.com/a/b?token=***&q=***",
  );
  expect(redactUrl("http://example.com/")).toBe("http://example.com/");
  expect(redactUrl("no url with secret")).toBe("***");
  expect(redactUrl(`http://example.com/${"x".repeat(9_000)}`).length).toBeLessThan(2_100);
});

it.each([
  [
    ["curl", "-H", "Authorization: Bearer s3cret"],
    ["curl", "-H", "Authorization: ***"],
  ],
  [
    ["sh", "-c", "curl -H 'authorization: s3cret' x"],
    ["sh", "-c", "curl -H 'authorization: ***' x"],
  ],
  [
    ["curl", "-H", 'Authorization: Digest username="ann", realm="r", response="s3cret"', "x"],
    ["curl", "-H", "Authorization: ***", "x"],
  ],
  [
    ["curl", "--header=Proxy-Authorization: AWS4-HMAC-SHA256 Credential='s3/cret', Signature=s3cret"],
    ["curl", "--header=Proxy-Authorization: ***"],
  ],
  [
    ["curl", "-H", "Authorization: Basic\r\n\ts3cret\n s3cret\nAccept: text/plain"],
    ["curl", "-H", "Authorization: ***\nAccept: text/plain"],
  ],
  [
    ["sh", "-c", `curl -H 'Authorization: Digest username="ann", response="s3cret"' x; date`],
    ["sh", "-c", "curl -H 'Authorization: ***' x; date"],
  ],
  [
    ["sh", "-c", 'curl -H "Cookie: a=\\"s3cret\\"; b=it\'s3cret" x; date'],
    ["sh", "-c", 'curl -H "Cookie: ***" x; date'],
  ],
  [
    ["sh", "-c", "curl -H 'X-Api-Key: s3cret"],
    ["sh", "-c", "curl -H 'X-Api-Key: ***"],
  ],
  [
    ["x", "--password=two s3cret; &s3cret 's3cret", "-token=s3 cret"],
    ["x", "--password=***", "-token=***"],
  ],
  [
    ["curl", "-uann:s3cret", "-Uann:s3:cret", "-sSu", "ann:s3cret", "-sSuann:s3cret"],
    ["curl", "-uann:***", "-Uann:***", "-sSu", "ann:***", "-sSuann:***"],
  ],
  [
    ["git", "clone", "https://u:s3cret@host/r"],
    ["git", "clone", "https://***@host/r"],
  ],
  [
    ["git", "clone", "https://u:s3@cret@host/r", "redis://:s3cret@host", "ftp://host/a@b"],
    ["git", "clone", "https://***@host/r", "redis://***@host", "ftp://host/a@b"],
  ],
  [
    [
      "curl",
      "-u",
      "ann:s3cret",
      "--proxy-user",
      "ann:s3:cret",
      "--user=ann:s3cret",
      "-H",
      "PRIVATE-TOKEN: s3cret",
    ],
    ["curl", "-u", "ann:***", "--proxy-user", "ann:***", "--user=ann:***", "-H", "PRIVATE-TOKEN: ***"],
  ],
  [
    ["sudo", "-u", "ann", "id"],
    ["sudo", "-u", "ann", "id"],
  ],
  [
    ["psql", "--password", "s3cret", "db"],
    ["psql", "--password", "***", "db"],
  ],
  [
    ["x", "--api-key=s3cret", "--deploy-token='s3 cret'"],
    ["x", "--api-key=***", "--deploy-token=***"],
  ],
  [
    ["sh", "-c", "TOKEN='s3 cret' a", `PASSWORD="s3'cret" b`, "TOKEN='s3 cret", "a='b' TOKEN=''"],
    ["sh", "-c", "TOKEN=*** a", "PASSWORD=*** b", "TOKEN=***", "a='b' TOKEN=***"],
  ],
  [
    ["env", "DB_PASSWORD=s3cret", "run"],
    ["env", "DB_PASSWORD=***", "run"],
  ],
  [
    ["sh", "-c", "TOKEN=s3cret; a=b run"],
    ["sh", "-c", "TOKEN=***; a=b run"],
  ],
  [
    ["curl", "http://h/?a=1&access_token=s3cret&b=2"],
    ["curl", "http://h/?a=1&access_token=***&b=2"],
  ],
  [
    [
      "sh",
      "-c",
      `curl -u ann:s3cret x; curl --user "ann:s3 cret" -sSu'ann:s3cret' --proxy-user=ann:s3cret y`,
    ],
    ["sh", "-c", `curl -u ann:*** x; curl --user "ann:*** -sSu'ann:*** --proxy-user=ann:*** y`],
  ],
  [
    ["sh", "-c", `mysql --password "s3cret \\" two" db; mysql\t--password\ts3cret db; x --token s3cret`],
    ["sh", "-c", "mysql --password *** db; mysql\t--password\t*** db; x --token ***"],
  ],
  [
    ["node", "-e", `fetch(u, {headers: {"Authorization":"Bearer s3cret", 'x-api-key' : 's3cret', "n": 1}})`],
    ["node", "-e", `fetch(u, {headers: {"Authorization":***, 'x-api-key' : ***, "n": 1}})`],
  ],
  [
    ["python3", "-c", "headers = {'Authorization': f'Bearer s3cret', 'Cookie': cookies}; go()"],
    ["python3", "-c", "headers = {'Authorization': ***, 'Cookie': ***}; go()"],
  ],
  [
    ["curl", "-d", '{"user":"ann","password":"s3 \\"cret","token":s3cret,"n":1}'],
    ["curl", "-d", '{"user":"ann","password":***,"token":***,"n":1}'],
  ],
  [
    ["sh", "-c", 'curl -d "{\\"password\\":\\"s3cret\\",\\"n\\":1}"'],
    ["sh", "-c", 'curl -d "{\\"password\\":***,\\"n\\":1}"'],
  ],
  [
    ["sh", "-c", `TOKEN="a\\"s3cret" b; TOKEN=$'s3 cret' c`],
    ["sh", "-c", "TOKEN=*** b; TOKEN=*** c"],
  ],
  [
    ["login", "-pghp_0123456789abcdefghijABCDEFGHIJ456789", "x=xglpat-0123456789abcdefghij"],
    ["login", "***", "x=***"],
  ],
  [
    ["gh", "ghp_0123456789abcdefghijABCDEFGHIJ456789"],
    ["gh", "***"],
  ],
  [
    ["login", "exs_IbZG_ScdPq42J-NxMqBmgU0YBd4wB_av4Dia8IKPi8w"],
    ["login", "***"],
  ],
  [
    ["x", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.s3cret"],
    ["x", "***"],
  ],
  [
    ["x", "-----BEGIN RSA PRIVATE KEY-----\ns3cret"],
    ["x", "-----BEGIN RSA ***"],
  ],
])("%j is recorded without its secret", (argv, shown) => {
  expect(redactArgv(argv)).toEqual({ argv: shown });
});

it.each([
  [["make", "CC=gcc", "-j4", "task-manager-with-a-long-name"]],
  [["grep", "-r", "a=b", "https://example.com/path?page=2"]],
  [["sh", "-c", "sudo -u ann make -j4 --user; docker run -u 0 x; echo 'a: b' \"it's\" --passive x"]],
  [["jq", '{"name":"a","keys":{"b":1}}', "task-manager-with-a-long-name"]],
  [["java", "-Xrunjdwp:transport=dt_socket", "-cp", "a:b", "a cookie is: sweet"]],
  [["echo", "\ud800 lone", "\u0000\n\u001b[31m"]],
])("%j is recorded as it is", (argv) => {
  expect(redactArgv(argv)).toEqual({ argv });
});

it("arguments are cut to a bound, and the rest is counted", () => {
  const { argv, argvOmitted } = redactArgv(["sh", "-c", "x".repeat(1_000_000), "more", "and more"]);
  expect(argv).toHaveLength(3);
  expect(argv[2]).toMatch(/x… \(1000000 characters\)$/);
  expect(argv.join("").length).toBeLessThan(33_000);
  expect(argvOmitted).toBe(2);
});

it("many short arguments are cut, too", () => {
  const { argv, argvOmitted } = redactArgv(Array.from({ length: 10_000 }, () => "x"));
  // Each takes its quotes and a comma as well.
  expect([argv.length, argvOmitted]).toEqual([(32 * 1024) / 4, 10_000 - (32 * 1024) / 4]);
});

it("of variables only a number of names is kept", () => {
  expect(variableNames({ A: "s3cret", B: "s3cret" })).toEqual(["A", "B"]);
  const many = variableNames(
    Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`V${index}`, ""])),
  );
  expect(many).toHaveLength(257);
  expect(cut("ab", 5)).toBe("ab");
});
