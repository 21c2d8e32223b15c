package runner_test

import (
	"context"

	"den/internal/agent/permission"
)

func permissionDenied(context.Context, permission.Request) permission.Decision {
	return permission.Decision{Reason: "nobody is there"}
}
