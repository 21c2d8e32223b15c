package modelstub

import (
	"encoding/json"
	"strings"
)

// generatePart is a part of a message of generateContent.
type generatePart struct {
	Text             string `json:"text"`
	FunctionResponse *struct {
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

type generateContent struct {
	Role  string         `json:"role"`
	Parts []generatePart `json:"parts"`
}

func (c generateContent) text() string {
	text := ""
	for _, p := range c.Parts {
		if p.Text != "" {
			text = joined(text, p.Text)
		}
	}
	return text
}

// readGenerate reads a request of generateContent; the path has what other
// dialects have in the body.
func (r *Request) readGenerate() error {
	var body struct {
		System   generateContent   `json:"systemInstruction"`
		Contents []generateContent `json:"contents"`
		Tools    []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return err
	}
	path, _, _ := strings.Cut(r.Path, "?")
	name, method, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	r.Model, r.Stream, r.System = name, method == "streamGenerateContent", body.System.text()
	for _, t := range body.Tools {
		for _, f := range t.Functions {
			r.Tools = append(r.Tools, f.Name)
		}
	}
	for _, c := range body.Contents {
		if c.Role == "model" {
			r.Results = nil
			continue
		}
		for _, p := range c.Parts {
			if p.Text != "" {
				r.Text = p.Text // after a turn that was cancelled, two messages come as one
			}
			if p.FunctionResponse != nil {
				r.Results = append(r.Results, string(p.FunctionResponse.Response))
			}
		}
	}
	return nil
}

// generateAnswer is a reply in the dialect of generateContent.
type generateAnswer struct {
	model string
	reply Reply
}

func (s *Server) generateAnswer(req *Request, r Reply) answer {
	return &generateAnswer{model: req.Model, reply: r}
}

// chunk is one answer, or a part of one; finish is "" but for the last.
func (a *generateAnswer) chunk(finish string, parts ...object) object {
	u := a.reply.usage()
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return object{
		"candidates": []object{candidate}, "modelVersion": a.model,
		"usageMetadata": object{"promptTokenCount": u.Input, "candidatesTokenCount": u.Output, "totalTokenCount": u.Input + u.Output},
	}
}

func (a *generateAnswer) calls() []object {
	parts := []object{}
	for _, c := range a.reply.Calls {
		parts = append(parts, object{"functionCall": object{"name": c.Name, "args": c.Input}})
	}
	return parts
}

func (a *generateAnswer) plain() object {
	return a.chunk("STOP", append([]object{{"text": a.reply.text()}}, a.calls()...)...)
}

func (a *generateAnswer) stream(s *stream) {
	goesOn := s.text(a.reply, func(text string) {
		s.event("", a.chunk("", object{"text": text}))
	}, func() {
		s.event("", object{"error": generateError(Failure{Status: 500})})
	})
	if goesOn {
		s.event("", a.chunk("STOP", a.calls()...))
	}
}

func generateError(f Failure) object {
	return object{"code": f.Status, "message": f.message(), "status": "UNAVAILABLE"}
}
