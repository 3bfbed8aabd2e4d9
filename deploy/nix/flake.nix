# SPDX-License-Identifier: Apache-2.0
# Not tested: no Nix was available. From the archive of a release; set `url` and `hash`.
{
  description = "Sign in with a passkey on a phone";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let pkgs = nixpkgs.legacyPackages.x86_64-linux;
    in {
      packages.x86_64-linux.default = pkgs.stdenv.mkDerivation rec {
        pname = "hybrid";
        version = "0.1.0";
        src = pkgs.fetchurl {
          url = "https://example.org/hybrid/hybrid-${version}-linux-amd64.tar.zst";
          hash = pkgs.lib.fakeHash;
        };
        nativeBuildInputs = [ pkgs.autoPatchelfHook pkgs.zstd ];
        buildInputs = with pkgs; [
          stdenv.cc.cc.lib systemdLibs libpng libjpeg_turbo libpsl qrencode zbar xorg.libxcb zlib dbus
        ];
        dontStrip = true;
        installPhase = "mkdir -p $out && cp -a usr/* etc $out/";
      };
    };
}
