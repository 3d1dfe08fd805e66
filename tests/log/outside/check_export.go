// check_export reads an exported log with golang.org/x/mod/sumdb/{note,tlog}, the implementation
// behind Go's checksum database, and shares no code with the log that wrote it.
//
//	check_export DIR VKEY [OLDER_CHECKPOINT]
//
// It opens DIR/checkpoint with the pinned key, fetches every hash through tlog.TileHashReader (which
// authenticates each tile against the root), proves and checks the inclusion of every entry, and, given
// an older checkpoint, that the tree begins with that one. It prints the size and exits 0, or says what
// is wrong and exits 1.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

// folder is a tlog.TileReader over the C2SP layout tile/L/NNN, where x/mod writes tile/H/L/NNN.
type folder string

func (f folder) Height() int { return tileHeight }

func (f folder) SaveTiles(tiles []tlog.Tile, data [][]byte) {}

func (f folder) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	all := make([][]byte, 0, len(tiles))
	for _, tile := range tiles {
		data, err := f.read(strings.TrimPrefix(tile.Path(), "tile/8/"), tile.W)
		if err != nil {
			return nil, err
		}
		if len(data) != tile.W*tlog.HashSize {
			return nil, fmt.Errorf("%s has %d bytes", tile.Path(), len(data))
		}
		all = append(all, data)
	}
	return all, nil
}

// read gives a partial tile from the full one where the tree has outgrown it.
func (f folder) read(path string, width int) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(string(f), "tile", path))
	if os.IsNotExist(err) {
		full := path[:strings.LastIndex(path, ".p/")]
		data, err = os.ReadFile(filepath.Join(string(f), "tile", full))
		if err == nil {
			data = data[:width*tlog.HashSize]
		}
	}
	return data, err
}

func (f folder) bundle(n, width int64) ([][]byte, error) {
	tile := tlog.Tile{H: tileHeight, L: -1, N: n, W: int(width)}
	path := strings.Replace(tile.Path(), "tile/8/data/", "tile/entries/", 1)
	data, err := os.ReadFile(filepath.Join(string(f), path))
	if err != nil {
		return nil, err
	}
	var entries [][]byte
	for len(data) > 0 {
		if len(data) < 2 || len(data) < 2+int(binary.BigEndian.Uint16(data)) {
			return nil, fmt.Errorf("%s ends inside of an entry", path)
		}
		end := 2 + int(binary.BigEndian.Uint16(data))
		entries = append(entries, data[2:end])
		data = data[end:]
	}
	if int64(len(entries)) != width {
		return nil, fmt.Errorf("%s has %d entries", path, len(entries))
	}
	return entries, nil
}

// open verifies a checkpoint and reads its three lines.
func open(path, vkey string) (tlog.Tree, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return tlog.Tree{}, err
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return tlog.Tree{}, err
	}
	opened, err := note.Open(raw, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() {
		return tlog.Tree{}, fmt.Errorf("the checkpoint's text is %q", opened.Text)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return tlog.Tree{}, fmt.Errorf("the root is %q", lines[2])
	}
	return tlog.Tree{N: size, Hash: *(*tlog.Hash)(root)}, nil
}

func check(f folder, tree tlog.Tree) error {
	hashes := tlog.TileHashReader(tree, f)
	root, err := tlog.TreeHash(tree.N, hashes)
	if err != nil || root != tree.Hash {
		return fmt.Errorf("the tiles have the root %v, signed is %v (%v)", root, tree.Hash, err)
	}
	for start := int64(0); start < tree.N; start += 1 << tileHeight {
		width := tree.N - start
		if width > 1<<tileHeight {
			width = 1 << tileHeight
		}
		entries, err := f.bundle(start>>tileHeight, width)
		if err != nil {
			return err
		}
		for i, entry := range entries {
			index := start + int64(i)
			proof, err := tlog.ProveRecord(tree.N, index, hashes)
			if err != nil {
				return err
			}
			if err := tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(entry)); err != nil {
				return fmt.Errorf("entry %d: %v", index, err)
			}
		}
	}
	return nil
}

func run(args []string) error {
	f := folder(args[0])
	tree, err := open(filepath.Join(args[0], "checkpoint"), args[1])
	if err != nil {
		return err
	}
	if err := check(f, tree); err != nil {
		return err
	}
	if len(args) > 2 {
		older, err := open(args[2], args[1])
		if err != nil {
			return err
		}
		proof, err := tlog.ProveTree(tree.N, older.N, tlog.TileHashReader(tree, f))
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(proof, tree.N, tree.Hash, older.N, older.Hash); err != nil {
			return err
		}
	}
	fmt.Println(tree.N)
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
