import { expect, it } from "vitest";
import { SpokenText } from "./spoken-text.ts";

function spoken(act: (text: SpokenText) => void): string[] {
  const said: string[] = [];
  act(new SpokenText((text) => said.push(text)));
  return said;
}

it("parts are passed on in whole words, and a message ends with a line break", () => {
  const said = spoken((text) => {
    for (const part of ["Let me", " lo", "ok.", "\nsk-se", "cret is", " a", " key"]) text.add(part);
    text.endMessage("Let me look.\nsk-secret is a key");
    text.add("Done.\n");
    text.endMessage("Done.\n");
  });
  expect(said).toEqual(["Let ", "me ", "look.\n", "sk-secret ", "is ", "a ", "key", "\n", "Done.\n"]);
});

it("a message that came without parts is passed on as a whole", () => {
  const said = spoken((text) => {
    text.endMessage("One.");
    text.endMessage("");
    text.endMessage("Two.\n");
  });
  expect(said).toEqual(["One.", "\n", "Two.\n"]);
});

it("a message that is cut off ends with a line break, and nothing said with nothing", () => {
  expect(spoken((text) => (text.add("half a w"), text.endMessage(), text.endMessage()))).toEqual([
    "half a ",
    "w",
    "\n",
  ]);
  expect(spoken((text) => text.endMessage())).toEqual([]);
});
