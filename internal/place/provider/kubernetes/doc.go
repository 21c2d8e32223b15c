// Package kubernetes runs agents' sessions in pods.
//
// A session is a pod. Its first process is den's own (package podhost), which
// starts the session's host beside it when it is told to. So a pod can be staged
// into before its program runs. The static den binary is put there by an init
// container of den's image, or is copied in, so any image works.
//
// The cluster has the truth. A pod's name follows from the session's, so the API
// server itself lets no second pod of a name come to be while it knows of one:
// that is the fence for nodes that do not answer. Labels say whose a pod is,
// annotations have the raw names, the metadata, and how the session began and
// ended. A pod whose session is over stands as its record until the name is used
// again.
//
// One watch tells of all pods of the owner. Each live pod is reached by one
// stream through the API server, on which any number of connections run. By it
// the session appears in the Home as one of this machine: its log is copied as it
// grows, and a socket there leads to the host in the pod. So every verb of den
// and the dashboards work on it, and a dead pod's past stays.
package kubernetes
