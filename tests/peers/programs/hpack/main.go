// Hpack is golang.org/x/net/http2/hpack as a program. In: lines of JSON. Out: one for each.
//
//	{"decode": "hex"}                   -> {"fields": [["name", "value"], …]}
//	{"encode": [["name", "value"], …]}  -> {"wire": "hex"}
//
// Blocks are of one connection, in order. A block that cannot be read answers {"error": "…"}.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"

	"golang.org/x/net/http2/hpack"
)

type question struct {
	Decode string      `json:"decode"`
	Encode [][2]string `json:"encode"`
	// What the decoder's side announces as its table's size before; null is nothing new.
	Limit *uint32 `json:"limit"`
	// Fields in places of this multiple are never indexed; 0 for none.
	Sensitive int `json:"sensitive"`
	// Another connection begins.
	Fresh bool `json:"fresh"`
}

type answer struct {
	Fields [][2]string `json:"fields,omitempty"`
	Wire   string      `json:"wire,omitempty"`
	Error  string      `json:"error,omitempty"`
}

type codec struct {
	decoder *hpack.Decoder
	encoder *hpack.Encoder
	wire    bytes.Buffer
}

func newCodec() *codec {
	c := &codec{decoder: hpack.NewDecoder(4096, nil)}
	c.encoder = hpack.NewEncoder(&c.wire)
	return c
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 16<<20)
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	c := newCodec()
	for input.Scan() {
		var asked question
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		if asked.Fresh {
			c = newCodec()
		}
		if err := encoder.Encode(c.answer(asked)); err != nil {
			log.Fatal(err)
		}
		output.Flush()
	}
}

func (c *codec) answer(asked question) answer {
	if asked.Encode != nil {
		return c.encode(asked)
	}
	if asked.Limit != nil {
		c.decoder.SetAllowedMaxDynamicTableSize(*asked.Limit)
	}
	block, err := hex.DecodeString(asked.Decode)
	if err != nil {
		log.Fatal(err)
	}
	fields, err := c.decoder.DecodeFull(block)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found := make([][2]string, 0, len(fields))
	for _, field := range fields {
		found = append(found, [2]string{field.Name, field.Value})
	}
	return answer{Fields: found}
}

func (c *codec) encode(asked question) answer {
	if asked.Limit != nil {
		c.encoder.SetMaxDynamicTableSize(*asked.Limit)
	}
	c.wire.Reset()
	for i, pair := range asked.Encode {
		sensitive := asked.Sensitive > 0 && i%asked.Sensitive == 0
		field := hpack.HeaderField{Name: pair[0], Value: pair[1], Sensitive: sensitive}
		if err := c.encoder.WriteField(field); err != nil {
			return answer{Error: err.Error()}
		}
	}
	return answer{Wire: hex.EncodeToString(c.wire.Bytes())}
}
