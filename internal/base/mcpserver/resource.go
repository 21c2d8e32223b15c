package mcpserver

import (
	"context"
	"fmt"

	"den/internal/base/fault"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resources is what clients can read beside the tools.
type Resources[C Client] struct {
	Templates []Resource // whose URIs are templates
	// List returns what there is for a client now.
	List func(ctx context.Context, client C) ([]Resource, error)
	// Read returns one. An error of the kind fault.NotFound says that there is
	// none.
	Read func(ctx context.Context, client C, uri string) (text string, err error)
}

// Resource is one of them.
type Resource struct {
	URI, Name, Description, MIMEType string
}

func resourceCapabilities(has bool) *sdk.ResourceCapabilities {
	if !has {
		return nil
	}
	return &sdk.ResourceCapabilities{}
}

func (s *Server[C]) addResources(r Resources[C]) {
	for _, t := range r.Templates {
		s.sdk.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: t.URI, Name: t.Name, Description: t.Description, MIMEType: t.MIMEType}, s.reader(r))
	}
	s.sdk.AddReceivingMiddleware(s.lister(r))
}

func (s *Server[C]) reader(r Resources[C]) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		c, err := s.connect(req.Session)
		if err != nil {
			return nil, err
		}
		text, err := r.Read(ctx, c.client, req.Params.URI)
		switch {
		case fault.KindOf(err) == fault.NotFound:
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		case err != nil:
			return nil, withHint(err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: text}}}, nil
	}
}

// lister answers requests for the list, which differs between clients and from
// moment to moment.
func (s *Server[C]) lister(r Resources[C]) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			of, ok := req.GetSession().(*sdk.ServerSession)
			if method != "resources/list" || !ok {
				return next(ctx, method, req)
			}
			c, err := s.connect(of)
			if err != nil {
				return nil, err
			}
			all, err := r.List(ctx, c.client)
			if err != nil {
				return nil, withHint(err)
			}
			list := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}}
			for _, one := range all {
				list.Resources = append(list.Resources, &sdk.Resource{URI: one.URI, Name: one.Name, Description: one.Description, MIMEType: one.MIMEType})
			}
			return list, nil
		}
	}
}

// withHint is an error for a protocol that has one line for it.
func withHint(err error) error {
	if hint := fault.HintOf(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}
