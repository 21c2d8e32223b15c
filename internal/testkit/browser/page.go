package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Page is a tab that shares nothing with others: it has cookies, storage and
// downloads of its own.
type Page struct {
	b        *Browser
	identity string // Chromium's id of what tabs can share
	session  string
}

// Open opens a tab at an address. It ends with Close, or with the browser.
func (b *Browser) Open(ctx context.Context, url string, width, height int) (*Page, error) {
	var made struct{ BrowserContextID string }
	if err := b.call(ctx, "", "Target.createBrowserContext", nil, &made); err != nil {
		return nil, err
	}
	var target struct{ TargetID string }
	// A window of its own: a tab behind another one is not drawn.
	if err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": made.BrowserContextID, "newWindow": true}, &target); err != nil {
		return nil, err
	}
	var attached struct{ SessionID string }
	if err := b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p := &Page{b, made.BrowserContextID, attached.SessionID}
	// Keys move its focus, whichever window has that of the browser.
	if err := p.Call(ctx, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil); err != nil {
		return nil, err
	}
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		if err := p.Call(ctx, domain+".enable", nil, nil); err != nil {
			return nil, err
		}
	}
	if err := p.Size(ctx, width, height, 1); err != nil {
		return nil, err
	}
	return p, p.Navigate(ctx, url)
}

// Close closes the tab, and forgets what it kept.
func (p *Page) Close(ctx context.Context) error {
	return p.b.call(ctx, "", "Target.disposeBrowserContext", map[string]any{"browserContextId": p.identity}, nil)
}

// Heard returns what the page wrote to its console, and what broke in it.
func (p *Page) Heard() []string {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return slices.Clone(p.b.heard[p.session])
}

// Call speaks DevTools to the tab.
func (p *Page) Call(ctx context.Context, method string, params, result any) error {
	return p.b.call(ctx, p.session, method, params, result)
}

// Navigate goes to an address.
func (p *Page) Navigate(ctx context.Context, url string) error {
	var r struct{ ErrorText string }
	if err := p.Call(ctx, "Page.navigate", map[string]any{"url": url}, &r); err != nil {
		return err
	}
	if r.ErrorText != "" {
		return fmt.Errorf("open %s: %s", url, r.ErrorText)
	}
	return nil
}

// Size sets the size of the tab, in CSS pixels, and how many device pixels one is.
func (p *Page) Size(ctx context.Context, width, height int, scale float64) error {
	return p.Call(ctx, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": scale, "mobile": false}, nil)
}

// SaveTo lets the browser save downloads in a directory, without asking.
func (p *Page) SaveTo(ctx context.Context, dir string) error {
	return p.b.call(ctx, "", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": dir, "browserContextId": p.identity}, nil)
}

// Prefer sets what the system prefers: "dark" or "light".
func (p *Page) Prefer(ctx context.Context, scheme string) error {
	return p.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Eval evaluates an expression, awaits it, and decodes its value.
func (p *Page) Eval(ctx context.Context, expression string, result any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := p.Call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r); err != nil {
		return err
	}
	if e := r.ExceptionDetails; e != nil {
		return fmt.Errorf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if result == nil || len(r.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(r.Result.Value, result)
}

// Until evaluates an expression until it is true, or ctx ends.
func (p *Page) Until(ctx context.Context, expression string) error {
	for {
		var ok bool
		// A page that is being loaded has not what the expression names.
		if err := p.Eval(ctx, "Boolean("+expression+")", &ok); err == nil && ok {
			return nil
		} else if ctx.Err() != nil {
			return fmt.Errorf("never true: %s (%w)", expression, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("never true: %s", expression)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Grant gives the tab a permission of the browser, such as "notifications".
func (p *Page) Grant(ctx context.Context, permission string) error {
	return p.b.call(ctx, "", "Browser.grantPermissions", map[string]any{"permissions": []string{permission}, "browserContextId": p.identity}, nil)
}

// Before has a script run in pages before their own.
func (p *Page) Before(ctx context.Context, script string) error {
	return p.Call(ctx, "Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script}, nil)
}

// PressControl presses a key while Control is held.
func (p *Page) PressControl(ctx context.Context, key string) error {
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		if err := p.Call(ctx, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "modifiers": 2}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Press presses a key and lets it go.
func (p *Page) Press(ctx context.Context, key string) error {
	ev := map[string]any{"type": "keyDown", "key": key}
	switch key {
	case "Enter":
		ev["text"], ev["windowsVirtualKeyCode"] = "\r", 13
	case "Tab":
		ev["windowsVirtualKeyCode"] = 9
	case "Escape":
		ev["windowsVirtualKeyCode"] = 27
	default:
		if len([]rune(key)) == 1 {
			ev["text"] = key
		}
	}
	if err := p.Call(ctx, "Input.dispatchKeyEvent", ev, nil); err != nil {
		return err
	}
	return p.Call(ctx, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// Click clicks at a place.
func (p *Page) Click(ctx context.Context, x, y float64) error {
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		err := p.Call(ctx, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// Screenshot returns a PNG of what the tab shows.
func (p *Page) Screenshot(ctx context.Context) ([]byte, error) {
	var r struct{ Data string }
	if err := p.Call(ctx, "Page.captureScreenshot", map[string]any{"format": "png"}, &r); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(r.Data)
}
