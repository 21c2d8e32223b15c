package copilot

import "den/internal/agent/runner"

// provider is a model of one's own in place of the vendor's service. The CLI's
// other modes find it in their environment; to its server it must be told.
type provider struct {
	Type        string `json:"type,omitempty"`
	WireAPI     string `json:"wireApi,omitempty"`
	BaseURL     string `json:"baseUrl"`
	APIKey      string `json:"apiKey,omitempty"`
	BearerToken string `json:"bearerToken,omitempty"`

	model string
}

// provider reads the variables that 'copilot help environment' documents. It
// returns nil where there is no such model.
func (d Driver) provider(o runner.Options) *provider {
	get := d.environment(o)
	p := &provider{
		Type: get("COPILOT_PROVIDER_TYPE"), WireAPI: get("COPILOT_PROVIDER_WIRE_API"), BaseURL: get("COPILOT_PROVIDER_BASE_URL"),
		APIKey: get("COPILOT_PROVIDER_API_KEY"), BearerToken: get("COPILOT_PROVIDER_BEARER_TOKEN"), model: get("COPILOT_MODEL"),
	}
	if p.BaseURL == "" {
		return nil
	}
	return p
}

// environment finds variables as the agent has them.
func (d Driver) environment(o runner.Options) func(string) string {
	return func(name string) string {
		if value, has := o.Env[name]; has || d.Getenv == nil {
			return value
		}
		return d.Getenv(name)
	}
}
