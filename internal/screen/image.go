package screen

import (
	"fmt"

	"den/internal/screen/vt"
)

// Image is a picture on the screen: the part Source of its pixels, drawn into
// Box.
type Image struct {
	ID     string `json:"id"`
	Width  int    `json:"width"` // of the PNG, in pixels
	Height int    `json:"height"`
	Source [4]int `json:"source"` // x, y, width and height, in its pixels
	// Box is x, y, width and height from the corner of the first cell, in pixels
	// of which a cell has CellWidth by CellHeight.
	Box  [4]int `json:"box"`
	Cols int    `json:"cols"` // the cells that it takes
	Rows int    `json:"rows"`
	PNG  []byte `json:"png,omitempty"`
}

// Tile is cells of a row that show a part of an image: Width of them, from Col
// on. X and Y are the image's column and row in the first.
type Tile struct {
	Image string `json:"image"` // its id
	Col   int    `json:"col"`
	Width int    `json:"width"`
	X     int    `json:"x"`
	Y     int    `json:"y"`
}

// tiles returns what of images is in a row, and adds the images.
func (s *Snapshot) tiles(row vt.Row) []Tile {
	var out []Tile
	for _, t := range row.Tiles() {
		out = append(out, Tile{Image: s.addImage(t.Image), Col: t.Col, Width: t.Width, X: t.X, Y: t.Y})
	}
	return out
}

func (s *Snapshot) addImage(img *vt.Image) (id string) {
	id = fmt.Sprintf("%016x", img.ID)
	for i := range s.Images {
		if s.Images[i].ID == id {
			return id
		}
	}
	s.Images = append(s.Images, Image{
		ID: id, Width: img.Width, Height: img.Height, PNG: img.PNG, Cols: img.Cols, Rows: img.Rows,
		Source: [4]int{img.Source.X, img.Source.Y, img.Source.W, img.Source.H},
		Box:    [4]int{img.Box.X, img.Box.Y, img.Box.W, img.Box.H},
	})
	return id
}

// WithoutPictures returns a copy that says where images are and how large, but
// does not hold them: they are long, and no text.
func (s Snapshot) WithoutPictures() Snapshot {
	images := s.Images
	s.Images = nil
	for _, img := range images {
		img.PNG = nil
		s.Images = append(s.Images, img)
	}
	return s
}
