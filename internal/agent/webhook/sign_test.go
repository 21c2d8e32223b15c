package webhook_test

import (
	"net/http"
	"testing"
	"time"

	"den/internal/agent/webhook"
	"den/internal/base/fault"
)

// The example that the Standard Webhooks libraries are tested with.
const (
	exampleSecret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleBody   = `{"test": 2432232314}`
	exampleTime   = 1614265330
)

func example() http.Header {
	h := http.Header{}
	h.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	h.Set("webhook-timestamp", "1614265330")
	h.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	return h
}

func TestVerify(t *testing.T) {
	at := time.Unix(exampleTime, 0)
	for name, row := range map[string]struct {
		secret string
		change func(http.Header)
		body   string
		now    time.Time
		good   bool
	}{
		"the example":            {exampleSecret, nil, exampleBody, at, true},
		"a minute later":         {exampleSecret, nil, exampleBody, at.Add(time.Minute), true},
		"one of two signatures":  {exampleSecret, func(h http.Header) { h.Set("webhook-signature", "v1,x "+h.Get("webhook-signature")) }, exampleBody, at, true},
		"another body":           {exampleSecret, nil, exampleBody + " ", at, false},
		"another secret":         {"other", nil, exampleBody, at, false},
		"another id":             {exampleSecret, func(h http.Header) { h.Set("webhook-id", "x") }, exampleBody, at, false},
		"another time":           {exampleSecret, func(h http.Header) { h.Set("webhook-timestamp", "1614265331") }, exampleBody, at, false},
		"too old":                {exampleSecret, nil, exampleBody, at.Add(6 * time.Minute), false},
		"from the future":        {exampleSecret, nil, exampleBody, at.Add(-6 * time.Minute), false},
		"no time":                {exampleSecret, func(h http.Header) { h.Del("webhook-timestamp") }, exampleBody, at, false},
		"no signature":           {exampleSecret, func(h http.Header) { h.Del("webhook-signature") }, exampleBody, at, false},
		"another kind":           {exampleSecret, func(h http.Header) { h.Set("webhook-signature", "v2"+h.Get("webhook-signature")[2:]) }, exampleBody, at, false},
		"secret that is no text": {"whsec_!", nil, exampleBody, at, false},
	} {
		h := example()
		if row.change != nil {
			row.change(h)
		}
		err := webhook.Verify(row.secret, h, []byte(row.body), row.now)
		if (err == nil) != row.good {
			t.Errorf("%s: %v", name, err)
		}
		if k := fault.KindOf(err); err != nil && k != fault.Denied && k != fault.Usage {
			t.Errorf("%s: kind %s", name, k)
		}
	}
}
