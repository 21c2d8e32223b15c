package workspace

// overlay lays top over base and returns the result; neither is changed.
// Tables merge key by key, `args` and `permissions` append, all else replaces. A
// layer that
// names a command drops the arguments below it, and what they would be for each
// approval: they belong to another one.
func overlay(base, top *node) *node {
	if base == nil || top == nil || base.kind != tableNode || top.kind != tableNode {
		if top == nil {
			return base.clone()
		}
		return top.clone()
	}
	merged := base.clone()
	merged.origin = top.origin
	if top.get("start_command") != nil {
		merged.remove("args")
		merged.remove("approval_modes")
	}
	for _, e := range top.entries {
		below := merged.get(e.key)
		switch {
		case (e.key == "args" || e.key == "permissions") && below != nil && below.kind == listNode && e.value.kind == listNode:
			joined := e.value.clone()
			joined.items = append(below.clone().items, joined.items...)
			merged.set(e.key, joined)
		case e.key == "env" && below != nil && below.kind == tableNode && e.value.kind == tableNode:
			merged.set(e.key, overlayVariables(below, e.value))
		case below != nil && below.kind == tableNode && e.value.kind == tableNode:
			merged.set(e.key, overlay(below, e.value))
		default:
			merged.set(e.key, e.value.clone())
		}
	}
	return merged
}

// overlayVariables lays one environment over another: a variable of top takes
// the place of the whole one below, so that a secret's two sources never mix.
func overlayVariables(base, top *node) *node {
	merged := base.clone()
	merged.origin = top.origin
	for _, e := range top.entries {
		merged.set(e.key, e.value.clone())
	}
	return merged
}
