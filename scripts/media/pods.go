package main

import (
	_ "embed"
	"os"
	"strings"
	"time"
)

//go:embed testdata/fleet/den.toml
var fleetFile string

// takePods takes the picture of the dashboard with agents in pods of a cluster.
func takePods(w *world, s *studio, image string) {
	place := *w
	place.shop = w.in("fleet")
	place.env = append(place.env, "KUBECONFIG="+os.Getenv("DEN_TEST_KUBECONFIG"))
	c := &cast{world: &place}
	c.write("fleet/den.toml", strings.ReplaceAll(fleetFile, "IMAGE", image))
	c.finally(c.env, c.den, "down")
	c.do("up", "--wait", "-t", patience)
	p := c.watch(s, 7, 1400, 1252, 2)
	p.until(`[...document.querySelectorAll("#agents tbody tr")].some((r) => r.textContent.includes("failed"))`)
	time.Sleep(5 * time.Second) // the scripts have something to show
	s.frame("kubernetes.png", p, "dark")
}
