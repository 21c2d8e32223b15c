package container_test

import (
	"os"
	"testing"

	"den/internal/testkit/podmantest"
)

func TestMain(m *testing.M) { os.Exit(podmantest.Main(m)) }
