/** Every transcript of what clients send: see `README.md` beside this file. */
import { testTranscripts } from "./replay_all.ts";

testTranscripts(new URL("./http1/", import.meta.url));
