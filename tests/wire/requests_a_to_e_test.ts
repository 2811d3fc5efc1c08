/** The transcripts of what clients send, by name up to e: see `README.md` beside this file. */
import { testTranscripts } from "./replay_all.ts";

testTranscripts(new URL("./http1/", import.meta.url), (name) => name < "f");
